import { resolve } from 'node:path'
import { startBoth } from '../start/supervisor.ts'
import { type Command, expectNothing, homeOf, takeOption } from './command.ts'

export const start: Command = {
  name: 'start',
  summary: 'starts both services; makes everything they need on the first run',
  help: `warder start [--home DIR]

Starts auth and kms, each as a process of its own, and keeps them running. On the first run it makes the home folder
with the root key, a local certificate authority, certificates, databases, the realm _ and the administrator admin;
then it prints where the services are and three lines to paste.

Ports: AUTH_PORT (8443), KMS_PORT (9998), KMS_SOCKET_SERVER_PORT (5696); 0 = any free one. Once both answer,
HOME/endpoints.json says where they are. More settings: HOME/auth.toml, HOME/kms.toml, warder config --help.

Signals: SIGTERM or SIGINT stop it in order (what is in flight is finished, the audit log flushed); a second one
stops at once. SIGHUP reloads the certificates.

Example:
  WARDER_HOME=/var/lib/warder AUTH_PORT=0 KMS_PORT=0 warder start`,
  async run(args, terminal) {
    const home = takeOption(args, 'home')
    expectNothing(home.rest)
    return startBoth(resolve(homeOf(home.value, terminal.env)), terminal)
  },
}
