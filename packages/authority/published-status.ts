import { createRowCache } from '@warder/storage'
import { crlOfAuthority, crlTopic, crlVersion, type StoredCrl } from './crl/crl-store.ts'
import { maySignCrl } from './crl/make-crl.ts'
import { createOcspAnswers, type OcspAnswers } from './ocsp/answers.ts'
import type { ResponderServices } from './ocsp/responders.ts'
import { readAuthority } from './register/authority-store.ts'

/** Facts about the authorities that are published without authentication. */
export interface PublishedStatus {
  /** The revocation list for an authority, by its certificate; undefined: there is none. */
  crl(authorityId: string): Promise<StoredCrl | undefined>
  /** Whether there is an authority with this certificate that is not permitted to sign lists. */
  signsNoCrl(authorityId: string): Promise<boolean>
  /** DER of its certificate. */
  certificate(authorityId: string): Promise<Uint8Array | undefined>
  readonly ocsp: OcspAnswers
}

/** Lists of megabytes: few are kept in memory, the others are read from the database each time. */
const maxCrls = 8

export function createPublishedStatus(services: ResponderServices): PublishedStatus {
  const { db, clock, leaseMs } = services
  const crls = createRowCache<StoredCrl>({
    db,
    topic: crlTopic,
    version: crlVersion,
    async load(id) {
      const value = await crlOfAuthority(db, id)
      return value === undefined ? undefined : { version: value.number, value }
    },
    capacity: maxCrls,
    leaseMs,
    clock,
  })
  return {
    crl: async (id) => crls.get(id),
    signsNoCrl: async (id) => {
      const authority = await readAuthority(db, id)
      return authority !== undefined && !maySignCrl(authority)
    },
    certificate: async (id) => (await readAuthority(db, id))?.certificate,
    ocsp: createOcspAnswers(services),
  }
}
