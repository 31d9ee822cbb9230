import { createHmac, timingSafeEqual } from 'node:crypto'
import { parseStrictObject } from '@warder/server'
import { headerText, readJws, readSigningKey } from '../protocol/jws.ts'
import { acmeProblem } from '../protocol/problem.ts'
import type { AcmeServices } from '../protocol/services.ts'
import type { AcmeCaller } from '../request/caller.ts'
import { type Credential, findCredential } from '../stored/credential-store.ts'

const hashes: Readonly<Record<string, string>> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }

/**
 * Verifies an external account binding (RFC 8555 §7.3.4): a JWS over the account key with the MAC key of a credential.
 * Returns the credential.
 * @throws malformed; unauthorized, alike for a wrong MAC and for a credential that is unknown, used or expired
 */
export async function verifyBinding(
  { db, seal, clock }: AcmeServices,
  { directory, urls, key }: AcmeCaller,
  binding: unknown,
): Promise<Credential> {
  const jws = readJws(binding)
  const hash = hashes[headerText(jws, 'alg') ?? '']
  if (hash === undefined)
    throw acmeProblem(
      'badSignatureAlgorithm',
      "'alg' of an external account binding is HS256, HS384 or HS512.",
      {
        members: { algorithms: Object.keys(hashes) },
      },
    )
  if (Object.hasOwn(jws.header, 'nonce'))
    throw acmeProblem('malformed', 'An external account binding has no nonce.')
  if (headerText(jws, 'url') !== urls.to('new-account'))
    throw acmeProblem('malformed', "'url' of the external account binding is not that of the request.")
  const id = headerText(jws, 'kid')
  if (id === undefined) throw acmeProblem('malformed', "The external account binding has no 'kid'.")
  const found = await findCredential(db, seal, directory.authorityId, id)
  const refused = acmeProblem('unauthorized', 'The external account binding is not accepted.')
  if (found === undefined) throw refused
  const { credential, macKey } = found
  const mac = createHmac(hash, macKey).update(jws.input).digest()
  macKey.fill(0)
  if (mac.length !== jws.signature.length || !timingSafeEqual(mac, jws.signature)) throw refused
  const bound = parseStrictObject(jws.payload)
  if (bound === undefined || readSigningKey(bound).thumbprint !== key.thumbprint)
    throw acmeProblem('malformed', 'The external account binding is about another key.')
  if (credential.account !== undefined || credential.expiresAt <= clock.now()) throw refused
  return credential
}
