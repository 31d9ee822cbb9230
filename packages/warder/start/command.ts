import { resolve } from 'node:path'
import { type Command, homeOption, selectHome } from '../cli/command.ts'
import { optionsHelp, optionsUsage } from '../cli/help.ts'
import { readArguments, requireNoNames } from '../cli/options.ts'
import { startBoth } from './supervisor.ts'

const options = {
  home: homeOption,
  'accept-rollback': {
    type: 'flag',
    help: 'starts with such a database or audit log all the same, once; the audit log records it',
  },
} as const

export const start: Command = {
  name: 'start',
  summary: 'starts both services; makes everything they need on the first run',
  options,
  help: `warder start ${optionsUsage(options)}

Starts auth and kms, each as a process of its own, and keeps them running. On the first run it makes the home folder
with the root key, a local certificate authority, certificates, databases, the realm _ and the administrator admin;
then it prints where the services are and three lines to paste.

Ports: AUTH_PORT (8443), KMS_PORT (9998), KMS_SOCKET_SERVER_PORT (5696); 0 = any free one. Once both answer,
HOME/endpoints.json says where they are. More settings: HOME/auth.toml, HOME/kms.toml, warder config --help.

A database that is missing, or older than its audit log, is refused: changes that were acknowledged are gone, and
destroyed keys may work again. So is an audit log that is missing, or has fewer records than its database knows of.

${optionsHelp(options)}

Signals: SIGTERM or SIGINT stop it in order (what is in flight is finished, the audit log flushed); a second one
stops at once. SIGHUP reloads the certificates.

Example:
  WARDER_HOME=/var/lib/warder AUTH_PORT=0 KMS_PORT=0 warder start`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, options)
    requireNoNames(names)
    return startBoth(resolve(selectHome(values.home, terminal.env)), terminal.forService?.() ?? terminal, {
      acceptRollback: values['accept-rollback'],
    })
  },
}
