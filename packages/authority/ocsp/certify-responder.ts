import { createHash, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { useNowChanges } from '@warder/keys'
import {
  issueCertificate,
  type NameParts,
  nameFromParts,
  nameText,
  profileExtensions,
  readNameParts,
} from '@warder/pki'
import type { Database, Seal } from '@warder/storage'
import { issuerChanges } from '../register/authority-store.ts'
import { newSerial } from '../register/parsed.ts'
import { insertIssuedChange, registerId } from '../register/register-store.ts'
import { responderValidityMs, serviceName } from '../register/settings.ts'
import { type Authority, toIssuer } from '../signing/authority.ts'
import { readResponder, responderChanges, responderKeySealContext } from './responder-store.ts'

const generate = promisify(generateKeyPair) as (
  type: string,
  options?: object,
) => Promise<{ readonly privateKey: KeyHalf; readonly publicKey: KeyHalf }>
interface KeyHalf {
  export(options: { readonly format: 'der'; readonly type: 'pkcs8' | 'spki' }): Buffer
}

/**
 * Makes a new key for the responder of an authority and certifies it, when half of the validity of the previous one is
 * over. The key is sealed in a table of its own: it is not an object and no user owns it.
 * @throws GuardFailed when another node was faster
 */
export async function certifyResponder(
  { db, seal }: { readonly db: Database; readonly seal: Seal },
  authority: Authority,
  owner: string,
  now: number,
): Promise<void> {
  const { parsed, issuer } = authority
  const before = await readResponder(db, issuer)
  const isQuantumSafe = /^(?:ml|slh)-dsa/.test(parsed.key.asymmetricKeyType ?? '')
  const pair = isQuantumSafe ? await generate('ml-dsa-44') : await generate('ec', { namedCurve: 'P-256' })
  const spki = pair.publicKey.export({ format: 'der', type: 'spki' })
  const second = Math.floor(now / 1000) * 1000
  const notBefore = Math.max(second - 3_600_000, parsed.notBefore)
  const notAfter = Math.min(second + responderValidityMs, parsed.notAfter)
  const subject = nameFromParts(responderName(readNameParts(parsed.subject)))
  const serial = newSerial()
  const extensions = profileExtensions('ocspResponder', { spki })
  const certificate = await issueCertificate(
    { subject, spki, notBefore, notAfter, extensions, serial },
    toIssuer(authority),
  )
  const pkcs8 = pair.privateKey.export({ format: 'der', type: 'pkcs8' })
  const privateKey = seal.seal(responderKeySealContext(issuer), pkcs8)
  pkcs8.fill(0)
  const version = Math.max((before?.version ?? 0) + 1, now)
  await db.commit([
    ...responderChanges(
      issuer,
      { privateKey, certificate, notAfter, version },
      second + (notAfter - second) / 2,
    ),
    insertIssuedChange({
      id: registerId(issuer, serial),
      issuer,
      authorityId: authority.id,
      certificateId: undefined,
      owner,
      profile: 'ocspResponder',
      subject: nameText(subject),
      fingerprint: createHash('sha256').update(certificate).digest('hex'),
      notBefore,
      notAfter,
      issuedAt: now,
      revokedAt: undefined,
      reason: undefined,
      invalidityAt: undefined,
      changedAt: now,
      crlNumber: undefined,
      version: 1,
      keyId: undefined,
    }),
    ...issuerChanges(db, issuer),
    ...(await useNowChanges(db, authority.key.object, serviceName, now)),
  ])
}

/** Below the name of the authority, so that constraints on names permit it. */
function responderName(parts: NameParts): NameParts {
  return [...parts.filter(([part]) => part !== 'CN'), ['CN', 'OCSP responder']]
}
