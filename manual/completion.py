# SPDX-License-Identifier: BSD-3-Clause
"""Completions for bash and zsh, from the programs' --help and the page of settings."""
import re

# What a value is called in --help, and what can be offered for it.
KINDS = {"FILE": "file", "FILE.svg": "file", "PATH": "file", "FOLDER": "folder", "DIR": "folder",
         "COMMAND": "command", "KEY": "key", "KEY=VALUE": "setting", "NAME[=VALUE]": "variable",
         "NAME=VALUE": "variable"}


def read_settings(page):
    """The keys of all settings, each with the words that it accepts, if those are few."""
    settings = {}
    for key, body in re.findall(r"^### (\S+)\n(.*?)(?=^###? |\Z)", page, re.M | re.S):
        accepts = re.search(r"^- accepts: (.*?)(?=^- |\Z)", body, re.M | re.S)
        text = " ".join(accepts[1].split()) if accepts else ""
        listed = re.fullmatch(r"[\w-]+(, [\w-]+)* or [\w-]+", text)
        settings[key] = re.split(r", | or ", text) if listed else []
    return settings


def kind_of(option, settings):
    """(kind, words)."""
    short_for = re.search(r"short for --set ([\w.]+)=", option.text)
    if short_for and settings.get(short_for[1]):
        return "words", settings[short_for[1]]
    if "|" in option.value:
        return "words", option.value.split("|")
    return KINDS.get(option.value, "none"), []


def first_words(program):
    """What may stand first in place of an option: the rows of a table, or a second use."""
    words = [word for group in program.words for word, _ in group.rows]
    for usage in program.usage:
        second = usage.split()[1:2]
        if second and re.fullmatch(r"[a-z]+", second[0]) and usage.split()[0] == program.name:
            words += second
    return words


def offered(option):
    return [name + "=" if option.attached and option.value else name for name in option.names]


def is_launcher(program):
    return any(" PROGRAM " in usage for usage in program.usage)


BASH_HEAD = """\
# Completion in bash for the programs of torusmp. Made from their --help.

_torusmp_offer() {
    local word
    # bash replaces what stands behind the last of these.
    local kept=${cur%"${cur##*[=:]}"}
    while IFS= read -r word; do
        COMPREPLY+=("${word#"$kept"}")
    done < <(compgen -W "$1" -- "$cur")
}

# _torusmp_value KIND WORDS: offers what a value can be.
_torusmp_value() {
    local before=
    if [[ $cur == --*=* ]]; then
        before=${cur%%=*}=
        cur=${cur#*=}
    fi
    case $1 in
        file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        command) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
        variable) compopt -o nospace; mapfile -t COMPREPLY < <(compgen -e -- "$cur") ;;
        words) _torusmp_offer "$2" ;;
        key) _torusmp_offer "$_torusmp_keys" ;;
        setting)
            if [[ $cur == *=* ]]; then
                local key=${cur%%=*} word
                for word in $(_torusmp_accepts "$key"); do
                    [[ $key=$word != "$cur"* ]] || COMPREPLY+=("$word")
                done
            else
                compopt -o nospace
                mapfile -t COMPREPLY < <(compgen -S = -W "$_torusmp_keys" -- "$cur")
            fi
            ;;
    esac
}
"""

BASH_TAIL = """\

_torusmp() {
    COMPREPLY=()
    local line=${COMP_LINE:0:COMP_POINT} cur i=1 words
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=("")
    cur=${words[-1]}
    local last=$((${#words[@]} - 1)) program=${words[0]##*/} options first= launcher= kind value_words
    program=${program%.torusmp}
    case $program in
        mpirun | mpiexec) program=torus-run ;;
        mpi*) program=mpicc ;;
    esac
    if [[ ${words[1]:-} =~ ^[a-z]+$ ]] && ((last > 1)) && _torusmp_options "$program ${words[1]}"; then
        program="$program ${words[1]}"
        i=2
    elif ! _torusmp_options "$program"; then
        return
    fi
    # Up to the current word: a value belongs to the option before it, and the first word that is
    # neither is what a launcher starts.
    while ((i < last)); do
        kind=
        [[ ${words[i]} != -* || ${words[i]} == *=* ]] || _torusmp_kind "$program" "${words[i]}"
        if [[ -n $kind ]]; then
            if ((i + 1 == last)); then
                _torusmp_value "$kind" "$value_words"
                return
            fi
            i=$((i + 1))
        elif [[ -n $launcher && ${words[i]} != -* ]]; then
            compopt -o default
            return
        fi
        i=$((i + 1))
    done
    if [[ $cur == --*=* ]]; then
        kind=
        _torusmp_kind "$program" "${cur%%=*}"
        _torusmp_value "$kind" "$value_words"
    elif [[ $cur == -* ]]; then
        _torusmp_offer "$options"
        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
    elif [[ -n $launcher ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
    elif [[ -n $first ]] && ((last == 1)); then
        _torusmp_offer "$first"
    else
        compopt -o default
    fi
}
"""


def bash(programs, settings, commands):
    out = [BASH_HEAD]
    out.append("_torusmp_keys='" + " ".join(settings) + "'\n")
    out.append("# The words that a setting accepts.\n_torusmp_accepts() {\n    case $1 in")
    for key, words in settings.items():
        if words:
            out.append(f"        {key}) echo '{' '.join(words)}' ;;")
    out.append("    esac\n}\n")
    out.append("# Sets what a program takes; fails for an unknown one.\n_torusmp_options() {\n    case $1 in")
    for program in programs:
        options = [name for option in program.all_options() for name in offered(option)]
        out.append(f"        '{program.name}')")
        out.append(f"            options='{' '.join(options)}'")
        out.append(f"            first='{' '.join(first_words(program))}'")
        if is_launcher(program):
            out.append("            launcher=yes")
        out.append("            ;;")
    out.append("        *) return 1 ;;\n    esac\n}\n")
    out.append("# What the value of an option is; nothing for an option without one.\n"
               "_torusmp_kind() {\n    value_words=\n    case \"$1 $2\" in")
    for program in programs:
        for option in program.all_options():
            if option.value:
                kind, words = kind_of(option, settings)
                names = " | ".join(f"'{program.name} {name}'" for name in option.names)
                out.append(f"        {names}) kind={kind} value_words='{' '.join(words)}' ;;")
    out.append("    esac\n}")
    out.append(BASH_TAIL)
    out.append("complete -F _torusmp " + " ".join(commands))
    return "\n".join(out) + "\n"


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_spec(option, settings):
    action = ""
    if option.value:
        kind, words = kind_of(option, settings)
        action = {"file": "_files", "folder": "_files -/", "command": "_command_names -e",
                  "key": "(" + " ".join(settings) + ")", "setting": "_torusmp_setting",
                  "variable": "_parameters -g \"*export*\"", "words": f"({' '.join(words)})"}.get(kind, " ")
        action = f":{zsh_text(option.value)}:{action}"
    lines = []
    for name in option.names:
        if option.value and option.attached:
            name += "=-"
        elif option.value and name.startswith("--"):
            name += "="
        lines.append(f"'*{name}[{zsh_text(option.text)}]{action}'")
    return lines


def zsh(programs, settings, commands):
    out = ["#compdef " + " ".join(commands),
           "# Completion in zsh for the programs of torusmp. Made from their --help.\n",
           "_torusmp_setting() {",
           "    if compset -P '*='; then\n        case $IPREFIX in"]
    for key, words in settings.items():
        if words:
            out.append(f"            *{key}=) compadd {' '.join(words)} ;;")
    out.append("        esac\n    else\n        compadd -S = -- " + " ".join(settings) + "\n    fi\n}\n")
    out.append("local program=${service%.torusmp}\ncase $program in\n    mpirun | mpiexec) program=torus-run ;;\n"
               "    mpi*) program=mpicc ;;\nesac")
    out.append('if [[ $CURRENT -gt 2 && ${words[2]} == netplan ]]; then\n    program="$program netplan"\n'
               "    words=(\"${(@)words[2,-1]}\")\n    CURRENT=$((CURRENT - 1))\nfi")
    out.append("case $program in")
    for program in programs:
        out.append(f"    '{program.name}')\n        _arguments \\")
        for option in program.all_options():
            out += [f"            {line} \\" for line in zsh_spec(option, settings)]
        if is_launcher(program):
            out.append("            '(-)1:program:{ _command_names -e; _files }' '*::arguments:_normal'")
        elif first_words(program):
            out.append(f"            '1:what:({' '.join(first_words(program))})'")
        else:
            out.append("            '*:file:_files'")
        out.append("        ;;")
    out.append("esac")
    return "\n".join(out) + "\n"
