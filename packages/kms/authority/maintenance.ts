import type { Seal } from '@warder/foundation/seal'
import { type Database, GuardFailed, StorageUnavailable } from '@warder/foundation/sql'
import type { Logger } from '@warder/foundation/telemetry'
import type { AlgorithmPolicy } from '../crypto/index.ts'
import { type KeyRing, readObject } from '../keys/index.ts'
import { crlPlace, type DueIssuer, dueIssuers, postponeChange } from './crl/crl-store.ts'
import { signCrl } from './crl/sign-crl.ts'
import { certifyResponder } from './ocsp/certify-responder.ts'
import { responderDueChange } from './ocsp/responder-store.ts'
import { authoritiesOf } from './register/authority-store.ts'
import type { RevocationConfig } from './register/settings.ts'
import { type Authority, issuerOf, openAuthority } from './signing/authority.ts'

export interface MaintenanceServices {
  readonly db: Database
  readonly seal: Seal
  readonly keys: KeyRing
  readonly policy: AlgorithmPolicy
  readonly revocation: RevocationConfig
  readonly log: Logger
}

/** Signs what authorities have due, outside of requests: revocation lists, and certificates of responders. */
export interface Maintenance {
  /** Is anything due? One look at an index. */
  due(now: number): Promise<boolean>
  /** Signs what is due, issuer after issuer; what cannot be signed is told to the log and tried again later. */
  run(now: number): Promise<void>
  /** Signs the first list of a new issuer, so that its relying parties never wait for one. */
  begin(issuer: string, now: number): Promise<void>
}

const mostIssuersPerRun = 1000
const retryMs = 3_600_000
/** A responder is not needed where the authority answers: whether that is so is looked at again. */
const lookAgainMs = 86_400_000

export function createMaintenance(services: MaintenanceServices): Maintenance {
  const { db, revocation } = services
  return {
    due: async (now) => (await dueIssuers(db, revocation, now, 1)).length > 0,
    async run(now) {
      for (const issuer of await dueIssuers(db, revocation, now, mostIssuersPerRun))
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
    const { authority, authorities } = await signingAuthority(services, due.id, now)
    const signer = { ...issuerOf(authority), key: authority.signer }
    if (due.crl) {
      const began = performance.now()
      await signCrl(services, { id: due.id, authorities }, signer, now)
      log.info({ issuer: due.id, ms: Math.round(performance.now() - began) }, 'a revocation list was signed')
    }
    if (!due.responder) return
    if (!revocation.delegatedResponder) await db.commit([responderDueChange(due.id, now + lookAgainMs)])
    else {
      const owner = (await readObject(db, authority.id))?.owner ?? ''
      await certifyResponder(services, authority, owner, now)
    }
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error
    // Another node has done it.
    if (error instanceof GuardFailed) return
    log.warn({ issuer: due.id, error }, 'a revocation list or a responder cannot be signed now')
    await db.commit([postponeChange(due.id, now + retryMs)])
  }
}

/** The newest authority of this name and key that may sign now. @throws what opening the newest one threw */
async function signingAuthority(
  { db, keys, policy }: MaintenanceServices,
  issuer: string,
  now: number,
): Promise<{ readonly authority: Authority; readonly authorities: readonly string[] }> {
  const stored = await authoritiesOf(db, issuer)
  const authorities = stored.map(({ id }) => id)
  const store = {
    read: (id: string) => readObject(db, id as never),
    key: (id: string) => keys.get(id as never),
  }
  let problem: unknown
  for (const one of stored) {
    try {
      return { authority: await openAuthority({ db, policy }, store, one, now), authorities }
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error
      problem ??= error
    }
  }
  throw problem ?? new Error('the issuer has no authority')
}
