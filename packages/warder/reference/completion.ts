import { type Command, readArguments, requireOneName, UsageError } from '@warder/command-line'
import { formatBashScript } from './bash.ts'
import { type CompletionPoint, listCompletionPoints } from './completion-points.ts'
import { formatFishScript } from './fish.ts'
import { formatZshScript } from './zsh.ts'

const shells: Readonly<Record<string, (places: readonly CompletionPoint[]) => string>> = {
  bash: formatBashScript,
  zsh: formatZshScript,
  fish: formatFishScript,
}

/** `warder completion SHELL`. @param loadAll every command, itself among them */
export function completionCommand(loadAll: () => Promise<readonly Command[]>): Command {
  return {
    name: 'completion',
    summary: 'Print a completion script for a shell',
    options: {},
    help: `warder completion bash|zsh|fish

Prints a script with which the shell completes commands, verbs, options and file names. The script contains the commands
of this version and contacts no service.

Example:
  source <(warder completion bash)                                     in ~/.bashrc
  warder completion zsh > ~/.zsh/completions/_warder                   in a folder of $fpath
  warder completion fish > ~/.config/fish/completions/warder.fish`,
    async run(args, terminal) {
      const { names } = readArguments(args, {})
      const shell = requireOneName(names, 'shell: bash, zsh or fish')
      const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined
      if (script === undefined) throw new UsageError(`the shell must be bash, zsh or fish, not '${shell}'`)
      terminal.out(script(listCompletionPoints(await loadAll())))
      return 0
    },
  }
}
