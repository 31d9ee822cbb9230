import { createPrivateKey } from 'node:crypto'
import { type Clock, Failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  findObject,
  getChainId,
  type KeyRing,
  type LastUses,
  softwareKey,
} from '@warder/keys'
import { type OcspResponder, ocspResponder, parseCertificate } from '@warder/pki'
import { createRowCache, type Database, type RowCache, type Seal } from '@warder/storage'
import { issuerByHash, issuerTopic, listAuthorities } from '../register/authority-store.ts'
import { type RevocationConfig, serviceName } from '../register/settings.ts'
import { openAuthority } from '../signing/authority.ts'
import { createSigner } from '../signing/signer.ts'
import { readResponder, responderKeySealContext } from './responder-store.ts'

export interface ResponderServices {
  readonly db: Database
  readonly seal: Seal
  readonly keys: KeyRing
  readonly clock: Clock
  readonly uses: LastUses
  readonly policy: AlgorithmPolicy
  readonly revocation: RevocationConfig
  /** See `createRowCache`. */
  readonly leaseMs: number
}

/** An issuer of this service, and the signer of responses about its certificates. */
export interface KnownIssuer {
  readonly issuer: string
  /** Decrypted when the first response is signed; undefined: no key can sign now. */
  responder(): Promise<SigningResponder | undefined>
}

export interface SigningResponder {
  readonly by: OcspResponder
  /** It signs nothing that is valid after this. Unix milliseconds. */
  readonly notAfter: number
}

const maxIssuers = 1000

/** Issuers by the key under which a CertID names them: see `issuerKeyOf`. */
export function createResponders(services: ResponderServices): RowCache<KnownIssuer> {
  const { db, clock, leaseMs, revocation } = services
  return createRowCache<KnownIssuer>({
    db,
    topic: issuerTopic,
    version: issuerByHash,
    async load(hash) {
      const found = await db.get(issuerByHash, [hash])
      if (found === undefined) return undefined
      const { issuer, version } = found
      const value: KnownIssuer = revocation.delegatedResponder
        ? { issuer, responder: once(() => openDelegatedResponder(services, issuer)) }
        : { issuer, responder: () => byAuthority(services, issuer) }
      return { version, value }
    },
    capacity: maxIssuers,
    leaseMs,
    clock,
  })
}

/** After a failure the next caller tries again. */
function once<R>(make: () => Promise<R | undefined>): () => Promise<R | undefined> {
  let made: Promise<R | undefined> | undefined
  return () => {
    made ??= make().then(
      (value) => {
        if (value === undefined) made = undefined
        return value
      },
      (error: unknown) => {
        made = undefined
        throw error
      },
    )
    return made
  }
}

async function openDelegatedResponder(
  { db, seal, policy }: ResponderServices,
  issuer: string,
): Promise<SigningResponder | undefined> {
  const stored = await readResponder(db, issuer)
  if (stored === undefined) return undefined
  const pkcs8 = await seal.open(responderKeySealContext(issuer), stored.privateKey)
  try {
    const key = createPrivateKey({
      key: Buffer.from(pkcs8.buffer, pkcs8.byteOffset, pkcs8.length),
      format: 'der',
      type: 'pkcs8',
    })
    const { spki } = parseCertificate(stored.certificate)
    const by = ocspResponder({ key: createSigner(softwareKey(key), policy, undefined), spki }, [
      stored.certificate,
    ])
    return { by, notAfter: stored.notAfter }
  } finally {
    pkcs8.fill(0)
  }
}

/** The authority itself, loaded again for each response, because it may have been revoked since the last one. */
async function byAuthority(
  { db, keys, policy, clock, uses }: ResponderServices,
  issuer: string,
): Promise<SigningResponder | undefined> {
  const store = {
    read: (id: string) => findObject(db, id as never),
    key: async (id: string) => keys.get(id as never),
  }
  for (const one of await listAuthorities(db, issuer)) {
    try {
      const now = clock.now()
      const { parsed, signer, key } = await openAuthority({ db, policy }, store, one, now)
      uses.note(getChainId(key.object), serviceName, now)
      return { by: ocspResponder({ key: signer, spki: parsed.spki }), notAfter: parsed.notAfter }
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'crypto_failure') throw error
    }
  }
  return undefined
}
