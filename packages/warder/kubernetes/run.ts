import type { Logger } from '@warder/base'
import { kmsClient } from '@warder/client'
import { readPemFile } from '@warder/command-line/files'
import { openClient, type Server } from '@warder/command-line/https-client'
import { createLogger, createMetrics, startMetricsListener } from '@warder/runtime'
import { createGrpcServer } from './grpc-service.ts'
import { type MachineLogin, MachineTokens } from './machine-tokens.ts'
import { Provider } from './provider.ts'
import { bindSocket } from './socket.ts'

export interface RunOptions {
  readonly socket: string
  readonly key: string
  readonly kms: Server
  readonly auth: Server | undefined
  readonly login: MachineLogin
  /** On 127.0.0.1; undefined: no metrics, 0: any free port. */
  readonly metricsPort: number | undefined
  readonly log?: Logger
}

export interface RunningProvider {
  readonly metricsPort: number | undefined
  stop(): Promise<void>
}

/** Timeout of a request to the key management service; that of the API server is three seconds. */
const timeoutMs = 2500

/** Starts the provider. If the key management service is unavailable, Status reports that. @throws StartupError */
export async function startProvider(options: RunOptions): Promise<RunningProvider> {
  const log = options.log ?? createLogger({ level: 'info', service: 'kubernetes-kms' })
  const metrics = createMetrics()
  const auth = options.auth === undefined ? undefined : openClient(options.auth)
  const tokens = new MachineTokens({ login: options.login, auth, log })
  const { url, caFile, serverName } = options.kms
  const ca = caFile === undefined ? undefined : readPemFile(caFile, 'CERTIFICATE')
  const provider = new Provider({
    key: options.key,
    tokens,
    client: (credentials) =>
      kmsClient({
        url,
        ca,
        serverName,
        credentials,
        timeoutMs,
        retries: 1,
        maxWaitSeconds: 1,
        maxAnswerBytes: 65_536,
      }),
  })
  metrics.gauge('kubernetes_healthy', 'Whether the last probe of the key management service went well.', () =>
    Number(provider.healthy),
  )
  metrics.gauge(
    'kubernetes_token_seconds',
    'Seconds until the token of the machine ends; 0: it has none.',
    () => Math.floor(tokens.secondsLeft ?? 0),
  )
  const socket = await bindSocket(createGrpcServer({ provider, log, metrics }), options.socket)
  const listener =
    options.metricsPort === undefined
      ? undefined
      : await startMetricsListener({
          host: '127.0.0.1',
          port: options.metricsPort,
          tls: undefined,
          exposition: () => metrics.exposition(),
        })
  log.info({ socket: options.socket }, 'the provider serves')
  return {
    metricsPort: listener?.port,
    async stop() {
      await socket.close()
      listener?.close()
      tokens.close()
      provider.close()
      auth?.close()
      log.info({}, 'the provider has stopped')
    },
  }
}
