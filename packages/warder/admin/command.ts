import type { Command } from '../cli/command.ts'
import { type Prompter, terminalPrompter } from '../cli/prompter.ts'
import { runAdmin } from './run.ts'
import { verbs } from './verbs.ts'

/** `warder admin`, with the terminal that questions are asked on. */
export function adminCommand(prompter: () => Prompter): Command {
  return {
    name: 'admin',
    summary: 'lists realms, users and sessions, adds and removes users, machines and sessions',
    help: `warder admin VERB [OPTIONS]

Administers a started authentication service through its API, with the rights of the administrator who runs it.

${verbs.map((verb) => `  ${`${verb.name} ${verb.words}`.trimEnd()}\n      ${verb.summary}`).join('\n')}

Who runs it:
  --admin NAME          the administrator (default admin)
  --admin-realm R       the realm that they log in to (default _)
  --password-file F     file with their password; - is standard input
                        else WARDER_ADMIN_PASSWORD, else (for admin of _) HOME/initial-admin-password, else a question
  --totp-code CODE      code of their second factor, else WARDER_ADMIN_TOTP, else a question

Where and how:
  --home DIR            home of the started services on this machine
  --url URL             another service instead: https://auth.example.com:8443
  --ca-file F           certificate authority to trust (default: HOME/tls/ca.crt; with --url the system's)
  --json                prints one JSON document instead of a table
  --yes                 does not ask before something is replaced, ended or deleted

A new password is random and shown once, unless --new-password-file names a file that holds it; the user has to choose
another one at the next login, unless --keep-password is given (or the realm lets expired passwords in).

Example:
  warder admin realms
  warder admin add-user ann --realm shop --role seller
  warder admin sessions --realm shop --user ann
  warder admin end-sessions --realm shop --user ann
  warder admin add-approle till --realm shop --policy sales --secret-id-uses 1
  warder admin users --realm shop --json | jq -r '.[].username'`,
    run: (args, terminal) => runAdmin(args, terminal, prompter()),
  }
}

export const admin: Command = adminCommand(() => terminalPrompter(process.stdin, process.stderr))
