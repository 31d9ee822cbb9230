import { resolve } from 'node:path'
import {
  type Command,
  optionsHelp,
  readArguments,
  requireNoNames,
  UsageError,
  type ValuesOf,
} from '@warder/command-line'
import { endpointOptions, findServiceEndpoints, readEndpointOptions } from '@warder/command-line/kms'
import { leaveParentProcess, watchStopSignals, whenParentProcessEnds } from '../service/stop-signals.ts'
import type { MachineLogin } from './machine-tokens.ts'

const options = {
  socket: {
    type: 'text',
    value: 'PATH',
    required: 'give the Unix socket for the API server: --socket /run/warder-kms/kms.sock',
    help: 'Unix socket to serve on, in an existing folder',
  },
  key: {
    type: 'text',
    value: 'KEY',
    help: 'id or alias of the key, an AES key of 256 bits; alias/NAME@OWNER is an alias of another user',
  },
  'role-id': { type: 'text', value: 'ID', help: 'AppRole of the machine, with --secret-id-file' },
  'secret-id-file': {
    type: 'text',
    value: 'F',
    help: 'file with a SecretID of that role; read at each login',
  },
  'token-file': {
    type: 'text',
    value: 'F',
    help: `file with a token instead, which is reloaded when it changes;
a machine token (wt.…) is renewed if the authentication service is known`,
  },
  check: {
    type: 'flag',
    help: 'requests the status of the provider at the socket instead; exit code 0: healthy',
  },
  'metrics-port': { type: 'number', value: 'N', help: 'GET /metrics on 127.0.0.1 (default: none)' },
  ...endpointOptions,
} as const

/** `warder kubernetes-kms`: the provider that encrypts the secrets of a cluster. */
export const kubernetesKms: Command = {
  name: 'kubernetes-kms',
  summary: 'Serve the Kubernetes API server as its KMS provider (v2)',
  help: `warder kubernetes-kms --socket PATH --key KEY [OPTIONS]
warder kubernetes-kms --socket PATH --check

Serves the Kubernetes API server as its KMS provider (v2) on a Unix socket: Status, Encrypt, Decrypt. The key stays in
the key management service. docs/how-to/kubernetes.md describes the setup.

SIGTERM or SIGINT stops it gracefully, a second one at once. It logs to standard error, one JSON object per line.

${optionsHelp(options)}

Example:
  warder kubernetes-kms --socket /run/warder-kms/kms.sock --key alias/cluster@admin \\
    --url https://kms.example.com:9998 --auth-url https://auth.example.com:8443 --ca-file ca.crt \\
    --role-id 9e2c… --secret-id-file /etc/warder-kms/secret-id`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, options)
    requireNoNames(names)
    const socket = resolve(values.socket)
    // gRPC is loaded here, not by every other command.
    if (values.check) return (await import('./check.ts')).checkProvider(socket, terminal)
    const { key } = values
    if (key === undefined || key === '')
      throw new UsageError('name the key: --key KEY (see warder keys list)')
    const login = readLogin(values)
    const { kms, auth } = findServiceEndpoints(readEndpointOptions(values, terminal.env))
    if (auth === undefined && 'roleId' in login)
      throw new UsageError('--role-id needs the authentication service: give its address with --auth-url')
    const { startProvider } = await import('./run.ts')
    const running = await startProvider({
      socket,
      key,
      kms,
      auth,
      login,
      metricsPort: values['metrics-port'],
    })
    await new Promise<void>((stop) => {
      const unwatch = [
        watchStopSignals(
          () => stop(),
          () => process.exit(1),
        ),
        whenParentProcessEnds(() => stop()),
      ]
      void unwatch
    })
    await running.stop()
    leaveParentProcess()
    return 0
  },
}

/** @throws UsageError */
function readLogin(values: ValuesOf<typeof options>): MachineLogin {
  const { 'role-id': roleId, 'secret-id-file': secretIdFile, 'token-file': tokenFile } = values
  if (tokenFile !== undefined) {
    if (roleId !== undefined || secretIdFile !== undefined)
      throw new UsageError('--token-file cannot be combined with --role-id and --secret-id-file')
    return { tokenFile }
  }
  if (roleId === undefined || secretIdFile === undefined)
    throw new UsageError(
      'give the credential of the machine: --role-id ID and --secret-id-file FILE, or --token-file FILE',
    )
  return { roleId, secretIdFile }
}
