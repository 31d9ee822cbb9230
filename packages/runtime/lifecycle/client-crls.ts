import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, inHome, type Logger, StartupError } from '@warder/base'
import { type ReadClientCrls, type RevokedCertificates, readClientCrls, underCrls } from '@warder/server'
import type { RuntimeConfig } from './launch.ts'
import type { TlsMaterial, TlsMaterials } from './messages.ts'

/** How often the files are checked. */
const checkEveryMs = 250

/** The CRLs of client certificates, in the primary. */
export interface ClientCrls {
  /** Reads the files again. @throws StartupError naming the file that cannot be used */
  read(): RevokedCertificates | undefined
  /** Calls `changed` after each change of a file, and warns of expired CRLs. @returns a function that stops it */
  watch(changed: () => void): () => void
}

/**
 * `clients_crl_files`, and `tls/ca.crl` if the local authority issues to clients: revoking one of its certificates
 * writes it, and until then there is none.
 * @throws StartupError
 */
export function openClientCrls(config: RuntimeConfig, home: string, clock: Clock, log: Logger): ClientCrls {
  const { clients_ca_cert_file: authorities, clients_crl_files: named } = config
  if (authorities === undefined && named.length > 0)
    throw new StartupError('clients_crl_files requires clients_ca_cert_file, the authorities of these CRLs')
  if (config.plaintext_http || authorities === undefined)
    return { read: () => undefined, watch: () => () => undefined }
  const authoritiesFile = inHome(home, authorities)
  const isLocal = authoritiesFile === join(home, 'tls', 'ca.crt')
  const local = isLocal ? [join(home, 'tls', 'ca.crl')] : []
  const required = named.map((file) => inHome(home, file))
  let ends: ReadClientCrls['ends'] = []

  const warnOfExpired = (): void => {
    const now = clock.now()
    const isOver = ({ until }: ReadClientCrls['ends'][number]) => until !== undefined && until < now
    for (const { file } of ends.filter(isOver))
      log.warn({ file, mode: config.clients_crl_failure_mode }, 'a CRL of client certificates has expired')
    ends = ends.filter((end) => !isOver(end))
  }

  return {
    read() {
      const files = [...required, ...local.filter((file) => existsSync(file))]
      const strict = config.clients_crl_failure_mode === 'reject'
      if (files.length === 0 && !strict) return undefined
      const crls = readClientCrls({ authoritiesFile, files, strict, crlsOptional: isLocal })
      ends = crls.ends
      warnOfExpired()
      return crls.revoked
    },
    watch(changed) {
      const watched = [...required, ...local]
      let seen = watched.map(readFileState)
      const timer = setInterval(() => {
        warnOfExpired()
        const now = watched.map(readFileState)
        if (now.every((state, index) => state === seen[index])) return
        seen = now
        changed()
      }, checkEveryMs)
      timer.unref()
      return () => clearInterval(timer)
    },
  }
}

/** Binds TLS sessions to the CRLs: sessions that began under other CRLs are not resumed. */
export function bindToCrls(
  files: Omit<TlsMaterials, 'revoked'>,
  revoked: RevokedCertificates | undefined,
): TlsMaterials {
  if (revoked === undefined) return { ...files, revoked }
  const bound = (material: TlsMaterial | undefined) => material && underCrls(material, revoked.version)
  return { ...files, https: bound(files.https), socket: bound(files.socket), revoked }
}

function readFileState(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? 'none' : `${found.ino} ${found.size} ${found.mtimeNs}`
}
