#compdef dayleaf
# zsh completion of dayleaf: add `eval "$(dayleaf completion zsh)"` to ~/.zshrc, after compinit; or keep this as `_dayleaf` in fpath.
_dayleaf() {
  local -a values shown
  local value about
  while IFS=$'\t' read -r value about; do
    values+=("$value")
    shown+=("$value${about:+  -- $about}")
  done < <(dayleaf completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#values )); then
    compadd -V dayleaf -l -d shown -a values
  else
    _files
  fi
}
if [ "$funcstack[1]" = _dayleaf ]; then _dayleaf; else compdef _dayleaf dayleaf; fi
