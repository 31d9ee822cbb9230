import {
  type Command,
  createVerbHelp,
  formatVerbs,
  homeVerbsHelp,
  optionsHelp,
  type Prompter,
  runHomeVerb,
  terminalPrompter,
} from '@warder/command-line'
import {
  adminAccountOptions,
  adminOptions,
  adminServiceOptions,
  runAdmin,
  verbs,
} from '@warder/command-line/admin'
import { recoverVerb } from './recover.ts'

const commonHelp = `Account:
${optionsHelp(adminAccountOptions)}

Service and output:
${optionsHelp(adminServiceOptions)}`

/** All verbs; the last one works without the API. */
const all = [...verbs, recoverVerb]
const verbHelp = createVerbHelp('admin', verbs, commonHelp)
const recoveryHelp = createVerbHelp('admin', [recoverVerb], homeVerbsHelp)

/** `warder admin`, with the terminal that questions are asked on. */
export function adminCommand(prompter: () => Prompter): Command {
  return {
    name: 'admin',
    about:
      'Administers a running authentication service through its API, with the rights of the logged-in administrator.',
    verbs: all,
    options: adminOptions,
    summary: 'List and change realms, users, machines and sessions',
    help: `warder admin VERB [OPTIONS]

Administers a running authentication service through its API, with the rights of the logged-in administrator.

${formatVerbs(all)}

  warder admin VERB --help    show the help of one verb

${commonHelp}

A new password is random and shown once, unless --new-password-file names a file with it. The user must choose another
one at the next login, unless --keep-password is given or the realm accepts expired passwords.

Example:
  warder admin realms
  warder admin add-user ann --realm shop --role seller
  warder admin sessions --realm shop --user ann
  warder admin end-sessions --realm shop --user ann
  warder admin add-approle till --realm shop --policy sales --secret-id-uses 1
  warder admin users --realm shop --json | jq -r '.[].username'`,
    helpFor: (args) => (args[0] === recoverVerb.name ? recoveryHelp(args) : verbHelp(args)),
    run: (args, terminal) =>
      args[0] === recoverVerb.name
        ? runHomeVerb([recoverVerb], args, terminal)
        : runAdmin(args, terminal, prompter()),
  }
}

export const admin: Command = adminCommand(() => terminalPrompter(process.stdin, process.stderr))
