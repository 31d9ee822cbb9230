import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Clock, Logger, Metrics } from '@warder/base'
import { pemText } from '@warder/pki'
import { ensureLocalAuthority, getPkcs12File } from '@warder/server'
import { bindToCrls, openClientCrls } from './client-crls.ts'
import type { TlsMaterials } from './messages.ts'
import { getLocalAuthorityOptions, type Start } from './primary-start.ts'
import { certificateFiles, createMaterialsReader, usesLocalAuthority } from './tls-materials.ts'

interface CertificateWatchOptions {
  /** PEM files of certificates and keys that are in use; the first certificate of each counts. */
  readonly files: readonly string[]
  /** The certificate in PEM of a file of another format; undefined = the file is PEM. */
  readDecrypted?(file: string): string | undefined
  /** Renews the certificates of the local authority; absent = there are none. */
  renew?(): Promise<void>
  /** Loads the files for new connections. @returns false when they cannot be used: the previous ones stay */
  reload(): boolean
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const checkEveryMs = 1000
const renewEveryMs = 3_600_000
/** A jump of the wall clock by this much: certificates may not be valid yet, or may have expired. */
const clockJumpMs = 30_000
const day = 86_400_000
/** Days before expiry at which a line is logged. */
const warnings = [30, 7, 1, 0] as const

interface CertificateWatch {
  /** Checks once; for tests. */
  check(): Promise<void>
  stop(): void
}

/**
 * Renews certificates while the service runs, loads files that were replaced, and warns of certificates that expire soon.
 * Open connections are not affected.
 */
export function watchCertificates(options: CertificateWatchOptions): CertificateWatch {
  const { files, clock, log, metrics, reload } = options
  let inUse = files.map(readFileState)
  let renewedAt = clock.monotonic()
  let offset = clock.now() - clock.monotonic()
  const readEnds = (): readonly Expiry[] => readExpiries(files, options.readDecrypted)
  let ends = readEnds()
  /** Logged warnings: certificate and threshold. */
  const warned = new Set<string>()
  let looking = false

  const warn = (): void => {
    for (const { file, until, id } of ends) {
      const days = (until - clock.now()) / day
      const threshold = warnings.findLast((limit) => days <= limit)
      if (threshold === undefined || warned.has(`${id} ${threshold}`)) continue
      warned.add(`${id} ${threshold}`)
      const fields = { file, ends: new Date(until).toISOString() }
      if (days <= 0) log.error(fields, 'a certificate in use has expired: clients refuse it')
      else log.warn(fields, `a certificate in use expires within ${threshold} days: replace its files`)
    }
  }
  metrics.gauge(
    'certificate_end_timestamp_seconds',
    'Time at which the first certificate in use expires; 0 = none in use.',
    () => (ends.length === 0 ? 0 : Math.min(...ends.map(({ until }) => until)) / 1000),
  )
  const check = async (): Promise<void> => {
    if (looking) return
    looking = true
    try {
      const jump = Math.abs(clock.now() - clock.monotonic() - offset)
      const isDue = clock.monotonic() - renewedAt >= renewEveryMs || jump > clockJumpMs
      if (options.renew !== undefined && isDue) {
        renewedAt = clock.monotonic()
        offset = clock.now() - clock.monotonic()
        await options.renew()
      }
      const now = files.map(readFileState)
      // Files that cannot be used, or not yet, are tried again when they change.
      if (now.some((state, index) => state !== inUse[index])) {
        inUse = now
        if (reload()) ends = readEnds()
      }
      warn()
    } catch (error) {
      log.error({ error }, 'certificates cannot be renewed; the next attempt is in an hour')
    } finally {
      looking = false
    }
  }
  warn()
  const timer = setInterval(() => void check(), checkEveryMs)
  timer.unref()
  return { check, stop: () => clearInterval(timer) }
}

interface Expiry {
  readonly file: string
  /** Unix milliseconds. */
  readonly until: number
  /** SHA-256 of the certificate. */
  readonly id: string
}

function readExpiries(
  files: readonly string[],
  readDecrypted: CertificateWatchOptions['readDecrypted'],
): readonly Expiry[] {
  return files.flatMap((file) => {
    try {
      const certificate = new X509Certificate(
        readDecrypted?.(file) ?? pemText(readFileSync(file), 'CERTIFICATE'),
      )
      return [{ file, until: certificate.validToDate.getTime(), id: certificate.fingerprint256 }]
    } catch {
      // A key, or a file that is being written.
      return []
    }
  })
}

function readFileState(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? 'none' : `${found.ino} ${found.size} ${found.mtimeNs}`
}

/** Certificates, authorities and CRLs of a service, in its primary. */
export interface PrimaryCertificates {
  /** The certificates of the last reload, with which a replaced worker starts. */
  current(): TlsMaterials
  /** Reads the files again; the previous certificates stay when the files cannot be used. @returns whether they could */
  reload(): boolean
  /** Loads renewed and replaced certificates and new CRLs until the service stops; calls `changed` after each reload. */
  watch(changed: (tls: TlsMaterials) => void): void
}

/** Issues missing certificates of the local authority, and reads all files. @throws StartupError naming an unusable file */
export async function openCertificates(start: Start): Promise<PrimaryCertificates> {
  const { launch, definition, clock, log, metrics, opened } = start
  const { config, home } = launch
  const { name } = definition
  const renew = usesLocalAuthority(config, home)
    ? () => ensureLocalAuthority(getLocalAuthorityOptions(start))
    : undefined
  await renew?.()
  const readMaterials = createMaterialsReader(definition, config, home)
  const crls = openClientCrls(config, home, clock, log)
  const p12File = getPkcs12File(config, home)?.p12File
  let files = readMaterials()
  let tls = bindToCrls(files, crls.read())
  let tell: (tls: TlsMaterials) => void = () => undefined

  const reload = (what: string, readFiles: () => typeof files): boolean => {
    try {
      files = readFiles()
      tls = bindToCrls(files, crls.read())
      tell(tls)
      log.info({}, `${what} were reloaded`)
      return true
    } catch (error) {
      log.error({ error }, `the ${what} cannot be used; the previous ones stay in use`)
      return false
    }
  }
  const reloadAll = (): boolean => reload('certificates', readMaterials)

  return {
    current: () => tls,
    reload: reloadAll,
    watch(changed) {
      tell = changed
      const watched = watchCertificates({
        files: certificateFiles(config, home, name),
        // It was read with its password.
        readDecrypted: (file) => (file === p12File ? String(tls.https?.cert) : undefined),
        ...(renew && { renew }),
        reload: reloadAll,
        clock,
        log,
        metrics,
      })
      opened.defer(() => watched.stop())
      // An unusable certificate file does not delay a revocation.
      opened.defer(crls.watch(() => void reload('CRLs', () => files)))
    },
  }
}
