import { resolve } from 'node:path'
import {
  type Command,
  homeOption,
  optionsHelp,
  optionsUsage,
  readArguments,
  requireNoNames,
  selectHome,
} from '@warder/command-line'
import { startBoth } from './supervisor.ts'

const options = {
  home: homeOption,
  'accept-rollback': {
    type: 'flag',
    help: 'accepts such a database or audit log once; the audit log records it',
  },
} as const

export const start: Command = {
  name: 'start',
  summary: 'Start both services; the first run creates everything that they need',
  options,
  help: `warder start ${optionsUsage(options)}

Starts auth and kms as separate processes and keeps them running. The first run creates the home folder with the root
key, a local certificate authority, certificates, databases, the realm _ and the administrator admin. Then it prints the
addresses of the services and three commands to try.

Ports: AUTH_PORT (8443), KMS_PORT (9998), KMS_SOCKET_SERVER_PORT (5696); 0 = any free port. When both services respond,
HOME/endpoints.json contains their addresses. More settings: HOME/auth.toml, HOME/kms.toml, warder config --help.

The start is refused if a database is missing or older than its audit log, because acknowledged changes are lost and
destroyed keys may work again; and if an audit log is missing or has fewer records than its database has recorded.

${optionsHelp(options)}

Signals: SIGTERM or SIGINT stops gracefully (requests in flight are finished, the audit log is flushed); a second one
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
