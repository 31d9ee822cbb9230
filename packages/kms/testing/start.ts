import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { AuditEvent, AuditTrail } from '@warder/audit'
import { type Clock, failure, type Logger, type Metrics, Secret, systemClock } from '@warder/base'
import type { KeyBackend } from '@warder/crypto'
import { createOutbound, type Outbound } from '@warder/outbound'
import { createReceivers, noticeMigrations, type ServiceEnvironment } from '@warder/runtime'
import { foundationSettings } from '@warder/runtime/settings'
import { sendDueNotices } from '@warder/runtime/testing'
import {
  createServiceServer,
  ensureLocalAuthority,
  type LocalCertificate,
  publicJwk,
  signToken,
} from '@warder/server'
import type { ServiceServerOptions } from '@warder/server/testing'
import {
  type Database,
  migrate,
  openSeal,
  type RestoredBackup,
  type Seal,
  sealMigrations,
} from '@warder/storage'
import { isTestedOnPostgresql } from '@warder/storage/testing'
import { build } from '../service/build.ts'
import { kmsNotices } from '../service/notices.ts'
import type { KmsServices } from '../service/operations.ts'
import { kmsService } from '../service/service.ts'
import { type KmsConfig, kmsDefaults, kmsSettings } from '../service/settings.ts'
import { type Caller, caller } from './client.ts'
import { openTestDatabase } from './test-database.ts'

export interface StartOptions {
  readonly config?: Partial<KmsConfig>
  readonly clock?: Clock
  readonly auditMode?: 'continue' | 'reject'
  /** Opened by the test; default is SQLite in the home. */
  readonly db?: Database
  /** The seal of another node on the same database. */
  readonly seal?: Seal
  /** 32 bytes, for a second node on one database. */
  readonly rootKey?: Uint8Array
  /** Name of the node; default `test`. */
  readonly node?: string
  /** true: tokens of `user()` are the only way in. Default. */
  readonly tokens?: boolean
  readonly clientCertificates?: boolean
  /** PEM of authorities of partners, by their names (`ClientAuthorities`). */
  readonly partners?: Readonly<Record<string, string>>
  /** Backend of the keys; default is in this process. */
  readonly backend?: KeyBackend
  /** Authority that outbound requests trust; default is the home's own. */
  readonly outboundCaFile?: string
  /** The client of outbound requests; default reaches private networks, too. */
  readonly outbound?: Outbound
  /** Shared with the authentication service. */
  readonly peerSecret?: Secret
  /** The backup that the database was filled from, at the first start after it. */
  readonly restored?: RestoredBackup
  /** A real audit log, in place of one in memory. */
  readonly audit?: AuditTrail
  /** Counts operations; default: nothing is counted. */
  readonly metrics?: Metrics
  /** Options that the runtime gives the server from its own settings. */
  readonly server?: Partial<
    Pick<ServiceServerOptions<KmsServices>, 'corsAllowedOrigins' | 'trustedProxyCidrs' | 'rateLimiter'>
  >
}

/** The service over HTTPS on a free port, in a temporary home, with its log and its audit records. */
export interface Started extends AsyncDisposable {
  readonly home: string
  readonly port: number
  readonly ca: string
  readonly services: KmsServices
  readonly environment: ServiceEnvironment<KmsConfig>
  readonly audit: AuditEvent[]
  readonly log: string[]
  /** Whether audit records can be written. */
  breakAudit(): void
  /** A session token of the issuer that the service trusts. */
  token(claims: Readonly<Record<string, unknown>>): string
  /** A caller with a session token of this user. */
  user(name: string): Caller
  with(headers: Readonly<Record<string, string>>): Caller
  /** A caller with the local authority's client certificate (CN `kmip-client`). */
  certified(): Caller
  /** A caller with a client certificate, PEM. */
  presenting(cert: string, key: string, headers?: Readonly<Record<string, string>>): Caller
  /** Every byte of the database's files, or of its rows on PostgreSQL; nothing of a database that the test brought. */
  storedBytes(): Promise<Buffer>
  /** The same of SQLite alone. */
  databaseBytes(): Buffer
}

const components = { seal: sealMigrations, notices: noticeMigrations, kms: kmsService.migrations }

export const issuer = 'https://auth.test'

const certificates: readonly LocalCertificate[] = [
  { name: 'auth', commonName: 'Warder auth' },
  { name: 'kms', commonName: 'Warder kms' },
  { name: 'kms-rsa', commonName: 'Warder kms', keyType: 'rsa', optional: true },
  { name: 'client', commonName: 'kmip-client', purpose: 'client' },
]

/** Folder of the authority that all homes of this process have a copy of: making one takes longer than the rest of a start. */
let authority: Promise<string> | undefined

async function makeAuthority(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-authority-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await ensureLocalAuthority({ folder: join(folder, 'tls'), clock: systemClock, certificates })
  return join(folder, 'tls')
}

/** Starts the service as the runtime does. */
export async function startKms(options: StartOptions = {}): Promise<Started> {
  // Resources opened by then are closed again when the start fails.
  await using opened = new AsyncDisposableStack()
  const home = mkdtempSync(join(tmpdir(), 'warder-kms-'))
  opened.defer(() => rmSync(home, { recursive: true, force: true }))
  const clock = options.clock ?? systemClock
  const tls = join(home, 'tls')
  authority ??= makeAuthority()
  cpSync(await authority, tls, { recursive: true })
  const pem = (name: string): string => readFileSync(join(tls, name), 'utf8')
  const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk(signer.publicKey)
  const keySet = join(home, 'jwks.json')
  writeFileSync(keySet, JSON.stringify({ keys: [jwk] }))

  const config = readConfig({
    ...(options.tokens !== false && { auth_verifier_jwks: `file:${keySet}` }),
    ...(options.clientCertificates === true && { clients_ca_cert_file: join(tls, 'ca.crt') }),
    // A change by a test counts at once, on both engines.
    ...(isTestedOnPostgresql && { cache_lease_ms: 0 }),
    ...options.config,
  })
  const own = options.db === undefined ? await openTestDatabase(home, components) : undefined
  const stored = options.db ?? own?.db
  if (stored === undefined) throw new Error('no database')
  const db = config['approvals.webhook_url'] === undefined ? stored : sendingAtOnce(stored, () => environment)
  opened.defer(() => own?.close())
  for (const [component, migrations] of Object.entries(components)) await migrate(db, component, migrations)
  const rootKeys = [
    { kind: 'key', from: 'test', key: new Secret(Buffer.from(options.rootKey ?? randomBytes(32))) } as const,
  ]
  const seal = options.seal ?? (await openSeal({ db, rootKeys, service: 'kms', clock: systemClock }))
  const lines: string[] = []
  const trail = memoryTrail(options.auditMode ?? 'continue')
  const audit = options.audit ?? trail.audit
  const environment: ServiceEnvironment<KmsConfig> = {
    config,
    home,
    baseUrl: 'https://localhost',
    db,
    seal,
    audit,
    outbound:
      options.outbound ??
      createOutbound({
        proxy: undefined,
        allowPrivateNetworks: true,
        caFile: options.outboundCaFile ?? join(tls, 'ca.crt'),
      }),
    log: memoryLog(lines),
    metrics: options.metrics ?? noMetrics,
    clock,
    node: options.node ?? 'test',
    restored: options.restored,
    peerSecret: options.peerSecret,
  }
  await kmsService.check?.(environment)
  await kmsService.prepare(environment)
  const instance = await build(environment, options.backend)
  const server = createServiceServer<KmsServices>({
    ...instance,
    ...options.server,
    audit,
    commit: db.commit,
    log: environment.log,
    metrics: options.metrics ?? noMetrics,
    clock,
    serviceName: 'kms',
    tls: {
      cert: pem('kms.crt'),
      key: pem('kms.key'),
      ...((options.clientCertificates === true || options.partners !== undefined) && {
        ca: `${options.clientCertificates === true ? pem('ca.crt') : ''}\n${Object.values(options.partners ?? {}).join('\n')}`,
        requestCert: true,
        rejectUnauthorized: false,
      }),
    },
    ...(options.partners !== undefined && {
      clientAuthorities: {
        users: options.clientCertificates === true ? pem('ca.crt') : undefined,
        partners: options.partners,
      },
    }),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const agents: Agent[] = []
  const running = opened.move()
  const ca = pem('ca.crt')
  const token: Started['token'] = (claims) => {
    const now = Math.floor(clock.now() / 1000)
    const header = { alg: 'ES256', typ: 'JWT', kid: jwk.kid }
    return signToken(
      header,
      { iss: issuer, iat: now, exp: now + 600, aud: ['_'], ...claims },
      signer.privateKey,
    )
  }
  return {
    home,
    port,
    ca,
    services: instance.services,
    environment,
    audit: trail.events,
    log: lines,
    breakAudit: trail.break,
    token,
    user: (name) =>
      caller({ port, ca, headers: { authorization: `Bearer ${token({ sub: name })}` } }, agents),
    with: (headers) => caller({ port, ca, headers }, agents),
    presenting: (cert, key, headers = {}) => caller({ port, ca, cert, key, headers }, agents),
    certified: () => caller({ port, ca, cert: pem('client.crt'), key: pem('client.key') }, agents),
    storedBytes: async () => own?.bytes() ?? Buffer.alloc(0),
    databaseBytes: () =>
      Buffer.concat(
        readdirSync(home)
          .filter((name) => name.startsWith('kms.db'))
          .map((name) => readFileSync(join(home, name))),
      ),
    async [Symbol.asyncDispose]() {
      for (const agent of agents) agent.destroy()
      await server.drain(200)
      await instance.close?.()
      await running.disposeAsync()
    },
  }
}

/** Starts the service for all tests of a file, or for the test that calls this, and stops it when they are done. */
export async function startSharedKms(options: StartOptions = {}): Promise<Started> {
  const kms = await startKms(options)
  after(() => kms[Symbol.asyncDispose]())
  return kms
}

/** The database of a node that sends notices once they are stored. */
function sendingAtOnce(db: Database, getEnvironment: () => ServiceEnvironment<KmsConfig>): Database {
  return {
    ...db,
    async commit(changes) {
      const results = await db.commit(changes)
      if (changes.some(({ query }) => query.text.startsWith('INSERT INTO notice '))) {
        const environment = getEnvironment()
        const receivers = createReceivers('kms', kmsNotices, environment)
        await sendDueNotices({ ...environment, db, receivers, events: kmsNotices.events })
      }
      return results
    },
  }
}

/** Every setting at its default, with the changes of the test. */
function readConfig(changes: Partial<KmsConfig>): KmsConfig {
  const table = { ...foundationSettings(kmsDefaults), ...kmsSettings }
  const defaults = Object.fromEntries(Object.entries(table).map(([key, setting]) => [key, setting.default]))
  return { ...(defaults as unknown as KmsConfig), ...changes }
}

function memoryTrail(mode: 'continue' | 'reject'): {
  readonly audit: AuditTrail
  readonly events: AuditEvent[]
  break(): void
} {
  const events: AuditEvent[] = []
  let broken = false
  return {
    events,
    break() {
      broken = true
    },
    audit: {
      mode,
      record(event) {
        if (!broken) events.push(event)
      },
      async recordDurably(event) {
        if (broken) throw failure('audit_unavailable', 'the disk is full')
        events.push(event)
      },
      flush: async () => undefined,
    },
  }
}

/** A log that keeps every line, including those that a real one omits. */
function memoryLog(lines: string[]): Logger {
  const write = (fields: Readonly<Record<string, unknown>>, message: string): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log }
  return log
}

const noMetrics: Metrics = {
  operation: () => undefined,
  count: () => undefined,
  gauge: () => undefined,
  collected: () => undefined,
  exposition: async () => '',
}
