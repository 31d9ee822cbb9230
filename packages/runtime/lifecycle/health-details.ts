import { X509Certificate } from 'node:crypto'
import { stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { memoizeFor, version } from '@warder/base'
import {
  type Access,
  createHealthCheck,
  defineOperation,
  get,
  type HealthPart,
  type Operation,
} from '@warder/server'
import { findUnsafeSettings, getDatabaseBytes, type Migration, readEngineVersion } from '@warder/storage'
import type { Static } from 'typebox'
import type { NoticeConfig } from '../config/notice-settings.ts'
import type { AuditSearch } from './audit-search.ts'
import { listComponents, planMigrations } from './components.ts'
import { toDatabaseLocation } from './database.ts'
import { readableDatabase } from './health-parts.ts'
import { listProblems } from './health-problems.ts'
import { HealthDetails } from './health-shape.ts'
import { type RuntimeConfig, readNoteTime } from './launch.ts'
import type { TlsMaterial, TlsMaterials } from './messages.ts'
import type { ServiceEnvironment } from './service.ts'

/** Reads the state of a service for its administrators, at most once in some seconds. */
export type HealthReader = () => Promise<Static<typeof HealthDetails>>

export interface HealthDetailsServices {
  readonly healthDetails: HealthReader
}

/** The service that is described. */
interface DescribedService {
  readonly name: string
  readonly migrations: readonly Migration[]
  readonly auditSearch: AuditSearch
  /** Default: those of the environment. */
  readonly parts?: readonly HealthPart[]
}

type Environment = Pick<
  ServiceEnvironment<unknown>,
  'config' | 'home' | 'db' | 'clock' | 'log' | 'node' | 'health' | 'inForce'
>

const rereadMs = 5000
/** A node that does not answer delays the reading by seconds: a repair must be seen soon nevertheless. */
const rereadPauseFactor = 1
/** A report of faults must not fail because of one. */
const unreadable = 'its audit log cannot be read; the log of the service has the reason'
/** Of services without notices. */
const defaultBackupHours = 48

export function createHealthReader(environment: Environment, service: DescribedService): HealthReader {
  const { clock, log, node, home, db, health = [readableDatabase(db)], inForce } = environment
  const config = environment.config as RuntimeConfig & Readonly<Record<string, unknown>>
  const { name, auditSearch, parts = health } = service
  const check = createHealthCheck({ parts, clock })
  const { notice_backup_hours: backupHours = defaultBackupHours } = config as Partial<NoticeConfig>
  const startedAt = clock.now() - process.uptime() * 1000
  return memoizeFor(
    async () => {
      const [state, nodes, disks, database] = await Promise.all([
        check(log),
        readNodes(config, node, auditSearch).catch((error: unknown) => {
          log.warn({ error }, 'the audit log cannot be read for the state of the service')
          return [{ node, answered: true, problems: [unreadable] }]
        }),
        readDisks(config, home, name),
        readDatabase(environment, config, service),
      ])
      const details = {
        service: name,
        version,
        node,
        started_at: toTime(startedAt),
        checked_at: toTime(clock.now()),
        parts: state.dependencies,
        nodes,
        certificates: inForce === undefined ? [] : listCertificates(inForce.certificates()),
        backups: {
          last_backup_at: readNote(home, 'backup'),
          last_drill_at: readNote(home, 'drill'),
        },
        disks,
        database,
        audit: {
          enabled: config.audit_enabled,
          failure_mode: config.audit_failure_mode,
          encrypted: config.audit_encryption,
        },
        root_key: {
          source: config.root_key_source,
          usable: inForce === undefined || inForce.isRootKeyUsable(),
          sealed: false,
        },
        settings: (inForce?.settings ?? []).map((setting) => ({ ...setting })),
      }
      return { ...details, problems: listProblems(details, clock.now(), backupHours) }
    },
    rereadMs,
    () => clock.monotonic(),
    rereadPauseFactor,
  )
}

const toTime = (ms: number): string => new Date(ms).toISOString()

function readNote(home: string, note: 'backup' | 'drill'): string | null {
  const seconds = readNoteTime(home, note)
  return seconds === 0 ? null : toTime(seconds * 1000)
}

/** The nodes of the database, each asked for the end of its audit log. */
async function readNodes(
  { audit_enabled: isEnabled }: RuntimeConfig,
  node: string,
  auditSearch: AuditSearch,
): Promise<Static<typeof HealthDetails>['nodes']> {
  if (!isEnabled) return [{ node, answered: true, problems: [] }]
  const { nodes } = await auditSearch.search({ filter: {}, limit: 1, after: undefined })
  return nodes.map(({ node: name, answered, reason, head, problems }) => ({
    node: name,
    answered,
    ...(reason !== undefined && { reason }),
    ...(head !== undefined && { records: head.seq }),
    problems: [...problems],
  }))
}

/** The disks with files of this node: each once, by its first path. */
async function readDisks(
  config: RuntimeConfig,
  home: string,
  name: string,
): Promise<Static<typeof HealthDetails>['disks']> {
  const location = toDatabaseLocation(config, home, name)
  const paths = [home, join(home, 'audit'), ...(location.kind === 'sqlite' ? [dirname(location.path)] : [])]
  const found = await Promise.all(
    paths.map(async (path) => {
      try {
        const [{ dev }, { bavail, blocks, bsize }] = await Promise.all([stat(path), statfs(path)])
        return [{ dev, path, free_bytes: bavail * bsize, total_bytes: blocks * bsize }]
      } catch {
        // Not there, such as the folder of a disabled audit log.
        return []
      }
    }),
  )
  const disks = new Map<number, Static<typeof HealthDetails>['disks'][number]>()
  for (const { dev, ...disk } of found.flat()) if (!disks.has(dev)) disks.set(dev, disk)
  return [...disks.values()]
}

async function readDatabase(
  { db, home }: Environment,
  config: RuntimeConfig,
  service: DescribedService,
): Promise<Static<typeof HealthDetails>['database']> {
  const location = toDatabaseLocation(config, home, service.name)
  const [engineVersion, plans, unsafe] = await Promise.all([
    readEngineVersion(db),
    planMigrations(db, listComponents(service)),
    findUnsafeSettings(db),
  ])
  const problem = db.problem()
  return {
    engine: db.dialect,
    version: engineVersion,
    location: location.kind === 'sqlite' ? location.path : withoutUser(location.url),
    ...(location.kind === 'sqlite' && { bytes: getDatabaseBytes(location.path) }),
    migrations: [...plans].map(([component, { done, pending, ahead }]) => ({
      component,
      done,
      pending: pending.length,
      newer: ahead.length,
    })),
    problems: [
      ...(problem === undefined ? [] : [problem]),
      ...unsafe.map(({ setting, loss }) => `${setting}: ${loss}`),
    ],
  }
}

/** `postgresql://user:password@host,host/name?…` as `host,host/name`. */
const withoutUser = (url: string): string => url.replace(/^\w+:\/\/(?:.*@)?/s, '').replace(/\?.*$/s, '')

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function listCertificates({ https, socket }: TlsMaterials): Static<typeof HealthDetails>['certificates'] {
  return [
    ...firstCertificates(https).map((certificate) => describeCertificate('https', certificate)),
    ...firstCertificates(socket).map((certificate) => describeCertificate('socket', certificate)),
    ...readPem(https?.ca).map((certificate) => describeCertificate('client_authority', certificate)),
  ]
}

/** The certificate of each chain that a listener shows. */
function firstCertificates(tls: TlsMaterial | undefined): readonly X509Certificate[] {
  const chains: readonly unknown[] = Array.isArray(tls?.cert) ? tls.cert : [tls?.cert]
  return chains.flatMap((chain) => readPem(chain).slice(0, 1))
}

/** @param text PEM, as a text or its bytes */
function readPem(text: unknown): readonly X509Certificate[] {
  if (text === undefined) return []
  const found =
    (typeof text === 'string' ? text : Buffer.from(text as Uint8Array).toString()).match(pem) ?? []
  return found.map((one) => new X509Certificate(one))
}

type Certificate = Static<typeof HealthDetails>['certificates'][number]

function describeCertificate(use: Certificate['use'], certificate: X509Certificate): Certificate {
  const { subject, issuer, subjectAltName: names, validToDate, fingerprint256 } = certificate
  return {
    use,
    subject: formatName(subject),
    issuer: formatName(issuer),
    ...(names !== undefined && { names }),
    not_after: validToDate.toISOString(),
    sha256: fingerprint256,
  }
}

/** Node has no text for an empty name: certificates of public authorities name hosts in subjectAltName alone. */
const formatName = (name: string | undefined): string => name?.replaceAll('\n', ', ') ?? ''

/**
 * `GET /v1/health/details`: the state of the service for its administrators.
 * @param access of administrators
 */
export function healthDetailsOperation<Services extends HealthDetailsServices>(
  access: Access<Services>,
): Operation<Services> {
  return defineOperation<Services>()({
    name: 'health.details',
    reach: ['reveal installation'],
    route: get('/v1/health/details'),
    summary: 'Nodes, certificates, backups, disks, database and settings of the service, for administrators',
    description:
      'Unlike `GET /health` it answers 200 if a part is down. The times of the last backup and of the last test of a restore are those that the home of this node knows.',
    tag: 'Diagnostics',
    access,
    reply: HealthDetails,
    errors: { 403: 'The caller does not administrate the service.' },
    act: (_input, { services }) => services.healthDetails(),
  })
}
