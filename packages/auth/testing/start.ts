import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import type { AuditEvent, AuditTrail } from '@warder/audit'
import { type Clock, Secret } from '@warder/base'
import { createOutbound } from '@warder/outbound'
import { noticeMigrations, type QueueOwner, readableDatabase, type ServiceEnvironment } from '@warder/runtime'
import { createServiceServer, healthOperation, issueCertificate } from '@warder/server'
import { type Database, migrate, openPostgres, openSeal, openSqlite, sealMigrations } from '@warder/storage'
import { isTestedOnPostgresql, startTestPostgres, type TestPostgres } from '@warder/storage/testing'
import { bootstrap } from '../bootstrap.ts'
import type { Credential } from '../methods/password/credential.ts'
import type { PasswordHasher } from '../methods/password/password-hash.ts'
import type { AuthServices } from '../operations.ts'
import { authService } from '../service.ts'
import { type AuthConfig, authSettings } from '../settings.ts'
import { type Answer, type Call, type Client, type ClientIdentity, client } from './client.ts'
import { breakable, type Faults, memoryLog, memoryMetrics, memoryTrail } from './in-memory.ts'

/** A clock that stands still unless a test advances it, so that results do not depend on the speed of the machine. */
export interface TestClock extends Clock {
  advance(seconds: number): void
}

export function testClock(): TestClock {
  const [began, up] = [Date.now(), performance.now()]
  let shift = 0
  return {
    now: () => began + shift,
    monotonic: () => up + shift,
    advance: (seconds) => {
      shift += seconds * 1000
    },
  }
}

export interface TestAuthority {
  readonly certificatePem: string
  issue(
    commonName: string,
    purpose: 'server' | 'client',
    validDays?: number,
  ): Promise<{ readonly cert: string; readonly key: string }>
}

const day = 86_400_000

/** A certificate authority for one test. */
export async function testAuthority(): Promise<TestAuthority> {
  const plan = (commonName: string, purpose: 'authority' | 'server' | 'client', validDays: number) => ({
    commonName,
    purpose,
    hostnames: purpose === 'server' ? ['localhost'] : [],
    addresses: purpose === 'server' ? ['127.0.0.1'] : [],
    notBefore: new Date(Date.now() - 400 * day),
    notAfter: new Date(Date.now() + validDays * day),
  })
  const authority = await issueCertificate(plan('Test authority', 'authority', 30), undefined)
  return {
    certificatePem: authority.certificatePem,
    async issue(commonName, purpose, validDays = 30) {
      const issued = await issueCertificate(plan(commonName, purpose, validDays), authority)
      return { cert: issued.certificatePem, key: issued.keyPem }
    },
  }
}

export interface TestService extends AsyncDisposable {
  readonly faults: Faults
  /** Counters: `name{label="value"}` and the count. */
  readonly counted: ReadonlyMap<string, number>
  /** Gauges by name. */
  readonly gauges: ReadonlyMap<string, () => number>
  readonly port: number
  readonly home: string
  readonly clock: TestClock
  readonly authority: TestAuthority
  readonly db: Database
  readonly environment: ServiceEnvironment<AuthConfig>
  readonly services: AuthServices
  readonly events: AuditEvent[]
  readonly logged: string[]
  readonly notices: readonly string[]
  readonly adminPassword: string
  call(method: string, path: string, call?: Call): Promise<Answer>
  /** A client with a certificate, or from another address (127.0.0.2 …). */
  clientWith(identity: ClientIdentity): Client
  /** Session cookie of a login that must succeed. */
  logIn(realm: string, basic: string): Promise<string>
  /** Session cookie of the first super admin; the same one for the whole test. */
  superCookie(): Promise<string>
  /**
   * Another node of the same installation: the same database, through connections and caches of its own.
   * @param node its name, for a node with a home of its own
   */
  beside(node?: string): Promise<TestService>
}

export interface TestOptions {
  readonly config?: Partial<AuthConfig>
  readonly adminPassword?: string | undefined
  /** Trust this authority for outbound requests, also to private addresses. */
  readonly outboundCa?: string
  readonly auditMode?: AuditTrail['mode']
  /** Compute every hash, without the cache of this process: for tests of time and load. */
  readonly everyHash?: boolean
  /** Settings of its connections, where the engine is PostgreSQL. */
  readonly postgresSettings?: Readonly<Record<string, string>>
}

/** Secret by which the services of a test's installation recognise each other. */
export const peerSecret = 'the secret of the services of a test'

const config: AuthConfig = {
  ...({
    ...Object.fromEntries(Object.entries(authSettings).map(([name, setting]) => [name, setting.default])),
    // A setting of the runtime.
    audit_enabled: true,
  } as unknown as AuthConfig),
  issuer: undefined,
  publish_session_jwks: true,
  certificate_signing: true,
  login_rate_limit_per_second: 1000,
  login_rate_limit_burst: 10_000,
  password_hash_concurrency: 0,
  saml_sp_key_files: [],
  saml_sp_certificate_files: [],
  'admin_password_policy.minimum_length': 0,
  'admin_password_policy.refuse_common': false,
}

/** Where services start on PostgreSQL, each on its own migrated database. */
let postgres = isTestedOnPostgresql ? await startPostgres() : undefined

async function startPostgres(): Promise<TestPostgres> {
  const started = await startTestPostgres()
  // It is gone with the process.
  if ('missing' in started) throw new Error(started.missing)
  return started
}

/** Makes services of this process start on this server. */
export function usePostgres(server: TestPostgres): void {
  postgres = server
}

const components = { seal: sealMigrations, notices: noticeMigrations, auth: authService.migrations }

interface OpenedDatabase {
  readonly db: Database
  /** The same database once more. */
  again(): Promise<OpenedDatabase>
  /** Closes it; the first connection also drops the database. */
  close(): Promise<void>
}

async function openDatabase(
  home: string,
  settings: TestOptions['postgresSettings'],
): Promise<OpenedDatabase> {
  if (postgres === undefined) {
    const open = async (): Promise<OpenedDatabase> => {
      const db = openSqlite({ path: join(home, 'auth.db') })
      return { db, again: open, close: async () => db.close() }
    }
    return open()
  }
  const server = postgres
  const url = new URL(await server.migrated(components))
  const given = Object.entries(settings ?? {}).map(([name, value]) => `-c ${name}=${value}`)
  // In libpq URLs a plus is a plus, not a blank.
  if (given.length > 0)
    url.search += `${url.search === '' ? '?' : '&'}options=${encodeURIComponent(given.join(' '))}`
  const open = async (): Promise<OpenedDatabase> => {
    const db = await openPostgres({ url: url.href })
    return { db, again: open, close: () => db.close() }
  }
  const first = await open()
  return {
    ...first,
    async close() {
      await first.close()
      // A test may have stopped the whole server.
      await server.drop(url.href).catch(() => undefined)
    },
  }
}

/** State shared by the nodes of one installation. */
interface Installation {
  readonly home: string
  readonly clock: TestClock
  readonly authority: TestAuthority
  readonly rootKeys: Parameters<typeof openSeal>[0]['rootKeys']
}

/** The whole service on a free port, over TLS, on an empty database. */
export async function startAuth(options: TestOptions = {}): Promise<TestService> {
  const home = mkdtempSync(join(tmpdir(), 'warder-auth-'))
  const rootKeys = [{ kind: 'key' as const, from: 'test', key: new Secret(randomBytes(32)) }]
  const installation = { home, clock: testClock(), authority: await testAuthority(), rootKeys }
  const opened = await openDatabase(home, options.postgresSettings)
  const service = await startNode(installation, opened, options)
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

async function startNode(
  installation: Installation,
  opened: OpenedDatabase,
  options: TestOptions,
  node = 'test',
): Promise<TestService> {
  const { home, clock, authority, rootKeys } = installation
  const server = await authority.issue('localhost', 'server')
  const faults: Faults = { database: false, audit: false }
  const db = breakable(opened.db, faults)
  for (const [component, migrations] of Object.entries(components)) await migrate(db, component, migrations)
  const seal = await openSeal({ db, rootKeys, service: 'auth', clock })
  const events: AuditEvent[] = []
  const logged: string[] = []
  const { metrics, counted, gauges } = memoryMetrics()
  const environment: ServiceEnvironment<AuthConfig> = {
    config: { ...config, ...options.config },
    home,
    baseUrl: 'https://localhost',
    db,
    seal,
    audit: memoryTrail(events, faults, options.auditMode ?? 'continue'),
    outbound: createOutbound({
      proxy: undefined,
      allowPrivateNetworks: options.outboundCa !== undefined,
      caFile: options.outboundCa,
      timeoutMs: 1000,
    }),
    log: memoryLog(logged),
    metrics,
    clock,
    node,
    peerSecret: Secret.fromText(peerSecret),
  }
  const known = options.adminPassword === knownPassword
  const notices = await bootstrap(
    environment,
    options.adminPassword,
    ...(known ? [async (): Promise<string> => knownHash] : []),
  )
  const instance = await authService.build(environment)
  if (options.everyHash !== true) rememberVerifications(instance.services.hasher)
  const health = healthOperation<AuthServices>({
    parts: [readableDatabase(db)],
    clock,
    everyMs: 0,
  })
  const service = createServiceServer<AuthServices>({
    operations: [...instance.operations, health],
    services: instance.services,
    authenticate: instance.authenticate,
    audit: environment.audit,
    commit: db.commit,
    log: environment.log,
    metrics,
    clock,
    serviceName: 'auth',
    peerSecret,
    tls: { ...server, ca: authority.certificatePem, requestCert: true, rejectUnauthorized: false },
  })
  const { port } = await service.listen({ host: '127.0.0.1', port: 0 })
  const plain = client(port, authority.certificatePem)
  const clients: Client[] = [plain]
  const adminPassword =
    options.adminPassword ?? readFileSync(join(home, 'initial-admin-password'), 'utf8').trim()
  let superSession: Promise<string> | undefined

  const logIn = async (realm: string, basic: string): Promise<string> => {
    const answer = await plain.call('POST', `/login?realm=${realm}`, { basic })
    if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text}`)
    return readCookie(answer)
  }
  return {
    faults,
    counted,
    gauges,
    port,
    home,
    clock,
    authority,
    db,
    environment,
    services: instance.services,
    events,
    logged,
    notices,
    adminPassword,
    call: plain.call,
    clientWith(identity) {
      const made = client(port, authority.certificatePem, identity)
      clients.push(made)
      return made
    },
    logIn,
    superCookie() {
      superSession ??= logIn('_', `admin:${adminPassword}`)
      return superSession
    },
    async beside(name) {
      const own = name === undefined ? home : join(home, name)
      mkdirSync(own, { recursive: true })
      return startNode({ ...installation, home: own }, await opened.again(), options, name)
    },
    async [Symbol.asyncDispose]() {
      for (const one of clients) one.close()
      faults.database = false
      faults.audit = false
      await service.drain(200)
      await instance.close?.()
      await opened.close()
    },
  }
}

/** Value of the session cookie that an answer set. */
export function readCookie(answer: Answer): string {
  const [header] = answer.headers['set-cookie'] ?? []
  const value = header?.split(';')[0]
  if (!value?.startsWith('_ea_=')) throw new Error('no session cookie')
  return value.slice('_ea_='.length)
}

/**
 * Caches password verifications, whose result never changes. A cached answer is still asynchronous, so that
 * concurrent requests interleave with a login.
 */
const rememberedAfterMs = 5
const verifications = new Map<string, Promise<boolean>>()

function rememberVerifications(hasher: PasswordHasher): void {
  const { verify } = hasher
  Object.assign(hasher, {
    verify(stored: string | undefined, password: string, owner: QueueOwner): Promise<boolean> {
      const question = JSON.stringify([stored, password])
      const known = verifications.get(question)
      if (known !== undefined) return after(rememberedAfterMs).then(() => known)
      const answer = verify(stored, password, owner)
      verifications.set(question, answer)
      answer.catch(() => verifications.delete(question))
      return answer
    },
  })
}

/** The hash of `correct horse`, so that tests create users without computing hashes. */
export const knownPassword = 'correct horse'
export const knownHash: Credential['passwordHash'] =
  '$argon2id$v=19$m=65536,t=3,p=4$SZ8k9fzwBgGDi6bF619UnA$XTCnYZMBRmOx0cO4C1m1zHjxAo/vsGcagcrf9GtAFRs'
