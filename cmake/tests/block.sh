# block.sh, sourced: block FILE SECTION LANGUAGE prints the first fenced block of that language in a section of a page.
block() {
  awk -v section="## $2" -v fence="\`\`\`$3" '/^## /{inside = ($0 == section)}
    inside && $0 == "```" && on {exit} on {print} inside && $0 == fence {on = 1}' "$1"
}
