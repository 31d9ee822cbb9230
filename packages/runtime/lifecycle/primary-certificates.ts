import { ensureLocalAuthority } from '@warder/server'
import { watchCertificates } from './certificate-watch.ts'
import { bindToCrls, openClientCrls } from './client-crls.ts'
import type { TlsMaterials } from './messages.ts'
import { getLocalAuthorityOptions, type Start } from './primary-start.ts'
import { certificateFiles, usesLocalAuthority } from './tls-material.ts'
import { createMaterialsReader } from './tls-materials.ts'

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
