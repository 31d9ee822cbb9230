import { parentPort, workerData } from 'node:worker_threads'
import { type AuditTrail, createAuditClient, createPreparedCommits } from '@warder/audit'
import { type Metrics, Pulse, Secret, StartupError, systemClock } from '@warder/base'
import { createOutbound, readOutboundAccess } from '@warder/outbound'
import {
  createClientRevocation,
  createServiceServer,
  createTokenBuckets,
  documentationOperations,
  healthOperation,
  openApiDocument,
  type ServiceServer,
  startTracing,
  type TokenBuckets,
  traceDatabase,
  unsealOperation,
} from '@warder/server'
import { type Database, openSeal, type RootKey } from '@warder/storage'
import { localRootKeySources } from '../config/foundation-settings.ts'
import { createLogger } from '../logger.ts'
import { createMetrics } from '../metrics.ts'
import { connect } from './database.ts'
import { createHealthParts, rootKeySourcePart } from './health-parts.ts'
import { rateLimitSlots } from './launch.ts'
import type { FromWorker, TlsMaterials, ToWorker, WorkerStart } from './messages.ts'
import { noAudit } from './no-audit.ts'
import { releaseMemoryWhenIdle } from './release-memory.ts'
import type { ServiceDefinition, ServiceEnvironment, ServiceInstance, ServiceSocket } from './service.ts'

// A worker: builds the service on its own connections and serves until it is drained.

const start = workerData as WorkerStart
const { launch } = start
const { config } = launch
const clock = systemClock
const pulse = new Pulse(start.pulse)
const send = (message: FromWorker): void => parentPort?.postMessage(message)
const metrics = createMetrics()
const tls = createTlsInForce({
  https: start.tls,
  socket: start.socket?.tls,
  clientAuthorities: start.clientAuthorities,
  revoked: start.revoked,
})
const revocation = createClientRevocation(clock, start.revoked)
tls.follow(({ revoked }) => revocation.set(revoked))

interface Running {
  readonly server: ServiceServer
  readonly socket: ServiceSocket | undefined
  stop(): Promise<void>
}

async function run(): Promise<Running> {
  const definition = await loadDefinition()
  const { name } = definition
  const opened = await openEnvironment(name)
  const { environment } = opened
  const service = await definition.build(environment)
  const rateLimiter = createRateLimiter()
  const operations = withDiagnostics(service, name, environment)
  const server = createServer({ ...service, operations }, name, environment, rateLimiter)
  metrics.gauge('requests_in_flight', 'Requests in progress.', () => server.inFlight())
  const { port } = await server.listen({ host: config.host, port: start.port, reusePort: start.sharePort })
  const socket = await listenBeside(service, rateLimiter)
  if (config.watchdog_seconds > 0) pulse.start(config.watchdog_seconds * 1000)
  releaseMemoryWhenIdle()
  send({ type: 'listening', port, operations: operations.map((operation) => operation.name) })
  return {
    server,
    socket,
    async stop() {
      await service.close?.()
      await closeEnvironment(opened)
    },
  }
}

async function loadDefinition(): Promise<ServiceDefinition<unknown, unknown>> {
  const module = (await import(launch.module)) as Record<string, ServiceDefinition<unknown, unknown>>
  const definition = module[launch.exportName]
  if (definition === undefined) throw new Error(`${launch.module} exports no ${launch.exportName}`)
  return definition
}

/** Resources that a worker opens before it builds its service. */
interface Opened {
  readonly environment: ServiceEnvironment<unknown>
  readonly audit: AuditTrail & { close?(): void }
  readonly tracing: ReturnType<typeof startTracing>
}

/** @param service its name */
async function openEnvironment(service: string): Promise<Opened> {
  const log = createLogger({
    level: config.log_level,
    service,
    onLost: () => metrics.count('log_lines_lost_total'),
  }).child({ worker: start.index })
  const outbound = createOutbound(readOutboundAccess(config, launch.home))
  const tracing = startTracing({
    endpoint: config.otlp_endpoint,
    percent: config.otlp_trace_percent,
    // The metrics of the primary are those of thread 0, those of a worker follow.
    ...{ service, version: launch.version, node: start.node, thread: start.index + 1 },
    ...{ outbound, clock, log, metrics },
  })
  const connected = await connect(start.database, start.writer, log)
  const db = tracing === undefined ? connected : traceDatabase(connected)
  databaseMetrics(metrics, db)
  const seal = await openSeal({ db, rootKeys: readRootKeys(), service, clock })
  const commits = config.audit_failure_mode === 'reject' ? createPreparedCommits(db) : undefined
  const audit: AuditTrail & { close?(): void } =
    start.audit === undefined ? noAudit : createAuditClient(start.audit, config.audit_failure_mode, commits)
  const rootKeyState = new Int32Array(start.rootKeyState)
  const isLocal = localRootKeySources.some((source) => source === config.root_key_source)
  const rootKeyParts = isLocal ? [] : [rootKeySourcePart(config.root_key_source, start.rootKeyState)]
  const environment: ServiceEnvironment<unknown> = {
    config,
    home: launch.home,
    baseUrl: start.baseUrl,
    db,
    seal,
    audit,
    outbound,
    log,
    metrics,
    tracer: tracing?.tracer,
    clock,
    node: start.node,
    health: [...createHealthParts(db, audit, clock), ...rootKeyParts],
    inForce: {
      settings: launch.changedSettings ?? [],
      certificates: () => tls.current(),
      isRootKeyUsable: () => Atomics.load(rootKeyState, 0) === 1,
    },
    peerSecret: launch.peerSecret === undefined ? undefined : Secret.fromText(launch.peerSecret),
    rateMemory: start.rateMemory,
    shared: start.shared,
  }
  return { environment, audit, tracing }
}

function readRootKeys(): readonly RootKey[] {
  return start.rootKeys.map((key) =>
    key.kind === 'key'
      ? ({ kind: 'key', from: key.from, key: new Secret(key.bytes) } as const)
      : ({ kind: 'passphrase', from: key.from, passphrase: new Secret(key.bytes) } as const),
  )
}

async function closeEnvironment({ environment, audit, tracing }: Opened): Promise<void> {
  await tracing?.stop()
  await audit.flush()
  audit.close?.()
  await environment.db.close()
}

function createServer(
  service: ServiceInstance<unknown>,
  name: string,
  environment: ServiceEnvironment<unknown>,
  rateLimiter: TokenBuckets | undefined,
): ServiceServer {
  const { audit, db, log, tracer } = environment
  const { operations } = service
  const operationIndexes = new Map(operations.map((operation, index) => [operation.name, index]))
  const server = createServiceServer<unknown>({
    operations,
    onBegin: (operation) => pulse.recordOperation(operationIndexes.get(operation) ?? -1),
    services: service.services,
    authenticate: service.authenticate,
    admit: service.admit,
    audit,
    commit: db.commit,
    log,
    metrics,
    tracer,
    clock,
    serviceName: name,
    tls: tls.current().https,
    clientAuthorities: tls.current().clientAuthorities,
    partnerHosts: service.partnerHosts,
    clientRevocation: revocation,
    corsAllowedOrigins: config.cors_allowed_origins,
    trustedProxyCidrs: config.audit_trusted_proxy_cidrs,
    peerSecret: launch.peerSecret,
    rateLimiter,
    listVerb: config.list_verb_enabled,
    limits: {
      bodyBytes: config.body_limit_bytes,
      headersTimeoutMs: config.headers_timeout_ms,
      requestTimeoutMs: config.request_timeout_ms,
      keepAliveTimeoutMs: config.keep_alive_timeout_ms,
    },
    baseUrl: start.baseUrl,
  })
  tls.follow(({ https, clientAuthorities }) => {
    if (https !== undefined) server.setTls(https, clientAuthorities)
  })
  return server
}

/** The buckets that all workers and both listeners share; undefined = no limit. */
function createRateLimiter(): TokenBuckets | undefined {
  const { rate_limit_per_second: ratePerSecond } = config
  if (ratePerSecond === undefined || start.buckets === undefined) return undefined
  const burst = ratePerSecond * 3
  return createTokenBuckets({ ratePerSecond, burst, clock, slots: rateLimitSlots, memory: start.buckets })
}

/** Opens the listener beside HTTPS, if there is one. */
async function listenBeside(
  service: ServiceInstance<unknown>,
  rateLimiter: TokenBuckets | undefined,
): Promise<ServiceSocket | undefined> {
  if (start.socket === undefined || service.socket === undefined) return undefined
  const { host, port } = start.socket
  const socket = service.socket({
    tls: tls.current().socket ?? start.socket.tls,
    rateLimiter,
    clientRevocation: revocation,
  })
  tls.follow(({ socket: next }) => {
    if (next !== undefined) socket.setTls(next)
  })
  await socket.listen({ host, port, reusePort: start.sharePort })
  return socket
}

/** Adds /health and the API description to a service that does not declare them. */
function withDiagnostics(
  service: ServiceInstance<unknown>,
  name: string,
  { health = [] }: ServiceEnvironment<unknown>,
): ServiceInstance<unknown>['operations'] {
  const documented = service.operations.some((operation) => operation.route.path === '/openapi.yaml')
  const answersHealth = service.operations.some((operation) => operation.route.path === '/health')
  const operations = answersHealth
    ? service.operations
    : [...service.operations, healthOperation<unknown>({ parts: health, clock }), unsealOperation<unknown>()]
  if (documented) return operations
  const document = openApiDocument({
    title: `Warder ${name}`,
    version: launch.version,
    serverUrl: start.baseUrl,
    operations,
    ...(service.credentials !== undefined && { credentials: service.credentials }),
  })
  return [...operations, ...documentationOperations<unknown>({ document })]
}

let running: Running | undefined

parentPort?.on('message', (message: ToWorker) => {
  switch (message.type) {
    case 'tls':
      tls.set(message.tls)
      break
    case 'metrics':
      void metrics.snapshot().then((snapshot) => send({ type: 'metrics', id: message.id, metrics: snapshot }))
      break
    case 'spread':
      running?.server.spread(message.share)
      break
    case 'drain':
      void drain(message.timeoutMs)
  }
})

async function drain(timeoutMs: number): Promise<void> {
  try {
    await Promise.all([running?.server.drain(timeoutMs), running?.socket?.drain(timeoutMs)])
    await running?.stop()
  } finally {
    send({ type: 'drained' })
  }
}

try {
  running = await run()
} catch (error) {
  const startup = error instanceof StartupError
  const message =
    error instanceof Error ? (startup ? error.message : (error.stack ?? error.message)) : String(error)
  send({ type: 'failed', message, startup })
}

/** Metrics of a worker's connections to its database. */
function databaseMetrics(metrics: Metrics, db: Database): void {
  metrics.gauge('database_waiting_commits', 'Commits that wait for the writer or a connection.', () => {
    return db.load().waitingCommits
  })
  metrics.collected('database_errors_total', {
    type: 'counter',
    help: 'Statements and commits that failed in the database.',
    label: 'kind',
    read: async () => ({ ...db.load().errors }),
  })
  if (db.dialect !== 'postgresql') return
  metrics.collected('database_connections', {
    type: 'gauge',
    help: 'Connections of the pool for commits.',
    label: 'state',
    read: async () => ({ ...db.load().pool }),
  })
}

/** The certificates and trust that one worker serves with, from before its listeners are made. */
interface TlsInForce {
  current(): TlsMaterials
  set(next: TlsMaterials): void
  /** @param change is called at each `set` from now on */
  follow(change: (tls: TlsMaterials) => void): void
}

/**
 * A reload can come while the worker still starts: a listener made with `current` that follows in the same turn of the
 * event loop never serves with an authority that was taken away.
 */
function createTlsInForce(first: TlsMaterials): TlsInForce {
  let current = first
  const followers: ((tls: TlsMaterials) => void)[] = []
  return {
    current: () => current,
    set(next) {
      current = next
      for (const change of followers) change(next)
    },
    follow: (change) => void followers.push(change),
  }
}
