import type { Logger } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import { findObject, type KeyRing } from '@warder/keys'
import { type Database, GuardFailed, type Seal, StorageUnavailable } from '@warder/storage'
import { type Authority, openAuthority, toIssuer } from './authority.ts'
import { crlDueChange, crlPlace, type DueIssuer, dueIssuers, postponeChange } from './crl/crl-store.ts'
import { maySignCrl, signCrl } from './crl/make-crl.ts'
import { responderDueChange } from './ocsp/responder-store.ts'
import { certifyResponder } from './ocsp/responders.ts'
import { holdName, listAuthorities, type StoredAuthority } from './register/authority-store.ts'
import { hashName, parseOnce } from './register/certificates.ts'
import type { RevocationConfig } from './register/settings.ts'

export interface MaintenanceServices {
  readonly db: Database
  readonly seal: Seal
  readonly keys: KeyRing
  readonly policy: AlgorithmPolicy
  readonly revocation: RevocationConfig
  readonly log: Logger
}

/** Signs due revocation lists and responder certificates of authorities, outside of requests. */
export interface Maintenance {
  /** Whether a signature is due; reads one index entry. */
  due(now: number): Promise<boolean>
  /**
   * Signs lists and certificates that are due, one issuer after another; failures are logged and tried again
   * later.
   */
  run(now: number): Promise<void>
  /** Signs the first list of a new issuer, so that its relying parties never wait for one. */
  begin(issuer: string, now: number): Promise<void>
}

const maxIssuersPerRun = 1000
const retryMs = 3_600_000
/** Interval after which an issuer is checked again that needs no responder now, or cannot sign a CRL. */
const lookAgainMs = 86_400_000

export function createMaintenance(services: MaintenanceServices): Maintenance {
  const { db, revocation } = services
  return {
    due: async (now) => (await dueIssuers(db, revocation, now, 1)).length > 0,
    async run(now) {
      for (const issuer of await dueIssuers(db, revocation, now, maxIssuersPerRun))
        await maintain(services, issuer, now)
    },
    async begin(issuer, now) {
      if ((await crlPlace(db, issuer))?.last !== undefined) return
      await maintain(services, { id: issuer, crl: true, responder: true }, now)
    },
  }
}

async function maintain(services: MaintenanceServices, due: DueIssuer, now: number): Promise<void> {
  const { db, log, revocation } = services
  try {
    const stored = await listAuthorities(db, due.id)
    if (due.crl) await signList(services, due.id, stored, now)
    if (!due.responder) return
    const authority = await signingAuthority(services, stored, now)
    if (!revocation.delegatedResponder) await db.commit([responderDueChange(due.id, now + lookAgainMs)])
    else {
      const owner = (await findObject(db, authority.id))?.owner ?? ''
      await certifyResponder(services, authority, owner, now)
    }
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error
    // Another node has done it.
    if (error instanceof GuardFailed) return
    log.warn({ issuer: due.id, error }, 'a revocation list or a responder cannot be signed at present')
    await db.commit([postponeChange(due.id, now + retryMs)])
  }
}

/** Signs the list of an issuer, unless none of its certificates permits it: relying parties would reject the list. */
async function signList(
  services: MaintenanceServices,
  issuer: string,
  stored: readonly StoredAuthority[],
  now: number,
): Promise<void> {
  const { db, log } = services
  // Authorities that an earlier version made have no entry of their name yet.
  await db.commit(stored.map(({ certificate }) => holdName(hashName(parseOnce(certificate).subject), issuer)))
  const signing = stored.filter(maySignCrl)
  if (signing.length === 0 && stored.length > 0) {
    await db.commit([crlDueChange(issuer, now + lookAgainMs)])
    log.info({ issuer }, 'no revocation list is signed: the certificate of the authority lacks cRLSign')
    return
  }
  const authority = await signingAuthority(services, signing, now)
  const signer = { ...toIssuer(authority), key: authority.signer }
  const began = performance.now()
  const authorities = stored.map(({ id }) => id)
  await signCrl(services, { id: issuer, authorities }, signer, authority.key.object, now)
  log.info({ issuer, ms: Math.round(performance.now() - began) }, 'a revocation list was signed')
}

/** The first of these authorities that may sign now. @throws the error of the first one */
async function signingAuthority(
  { db, keys, policy }: MaintenanceServices,
  stored: readonly StoredAuthority[],
  now: number,
): Promise<Authority> {
  const store = {
    read: (id: string) => findObject(db, id as never),
    key: async (id: string) => keys.get(id as never),
  }
  let problem: unknown
  for (const one of stored) {
    try {
      return await openAuthority({ db, policy }, store, one, now)
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error
      problem ??= error
    }
  }
  throw problem ?? new Error('the issuer has no authority')
}
