import type { Command } from '../cli/command.ts'
import { UsageError } from '../cli/command.ts'
import { onlyName, readArguments } from '../cli/options.ts'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { type Place, placesOf } from './words.ts'
import { zshScript } from './zsh.ts'

const shells: Readonly<Record<string, (places: readonly Place[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** `warder completion SHELL`. @param loadAll every command, itself among them */
export function completionCommand(loadAll: () => Promise<readonly Command[]>): Command {
  return {
    name: 'completion',
    summary: 'prints a script by which a shell completes the words of warder',
    options: {},
    help: `warder completion bash|zsh|fish

Prints a script that makes the shell complete commands, verbs, options and names of files. It asks no service, and holds
what this version of warder knows.

Example:
  source <(warder completion bash)                                     in ~/.bashrc
  warder completion zsh > ~/.zsh/completions/_warder                   in a folder of $fpath
  warder completion fish > ~/.config/fish/completions/warder.fish`,
    async run(args, terminal) {
      const { names } = readArguments(args, {})
      const shell = onlyName(names, 'shell: bash, zsh or fish')
      const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined
      if (script === undefined) throw new UsageError(`the shell is bash, zsh or fish, not '${shell}'`)
      terminal.out(script(placesOf(await loadAll())))
      return 0
    },
  }
}
