import { createProblem, type Problem } from '../protocol/problem.ts'
import { type Proof, sha256, type Ways } from './proof.ts'

/** RFC 8555 §8.4: a TXT record holds the digest of the key authorization. */
export async function checkDns(
  { identifier, keyAuthorization }: Proof,
  { dns }: Ways,
): Promise<Problem | undefined> {
  const name = `_acme-challenge.${identifier.value}`
  let records: readonly (readonly string[])[]
  try {
    records = await dns.resolveTxt(name)
  } catch {
    return createProblem('dns', `${name} has no TXT record that can be resolved.`)
  }
  const wanted = sha256(keyAuthorization).toString('base64url')
  return records.some((parts) => parts.join('') === wanted)
    ? undefined
    : createProblem('incorrectResponse', `No TXT record of ${name} matches the challenge.`)
}
