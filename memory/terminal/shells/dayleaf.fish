# fish completion of dayleaf: add `dayleaf completion fish | source` to ~/.config/fish/config.fish.
function __dayleaf_words
    set -l words (commandline -opc) (commandline -ct)
    dayleaf completion fish -- $words[2..-1] 2>/dev/null
end
complete -c dayleaf -e
complete -c dayleaf -a '(__dayleaf_words)'
