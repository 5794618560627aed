# bash completion of dayleaf: add `eval "$(dayleaf completion bash)"` to ~/.bashrc.
_dayleaf() {
  local line value about rows=() IFS=$'\n'
  while IFS=$'\t' read -r value about; do
    rows+=("$value"$'\t'"$about")
  done < <(dayleaf completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=()
  if [ "${#rows[@]}" -eq 1 ]; then
    COMPREPLY=("${rows[0]%%$'\t'*}")
    return
  fi
  for line in "${rows[@]}"; do
    value=${line%%$'\t'*} about=${line#*$'\t'}
    # Only what is listed may say more than the word: on the first TAB readline writes what all have in common.
    if [ "$COMP_TYPE" = 63 ] && [ -n "$about" ]; then COMPREPLY+=("$value  ($about)"); else COMPREPLY+=("$value"); fi
  done
}
complete -o default -o nosort -F _dayleaf dayleaf 2>/dev/null || complete -o default -F _dayleaf dayleaf
