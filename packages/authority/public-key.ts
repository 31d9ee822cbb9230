import { type AlgorithmPolicy, keyFacts, requirePermitted } from '@warder/keys'
import { type ParsedKey, publicFromSpki, requireLoadable } from '@warder/pki'

/** Refuses to certify keys that the policy does not permit. @throws Failure unsupported_algorithm; PkiError */
export function requirePermittedKey(spki: Uint8Array, policy: AlgorithmPolicy, fips: boolean): ParsedKey {
  const key = publicFromSpki(spki, { fips })
  const { algorithm, bits, curve } = key
  const named = curve === undefined ? undefined : (curveNames.get(curve.name) ?? curve.name)
  requirePermitted(policy, keyFacts({ algorithm, bits, curve: named }))
  return key
}

/** The same for a key that was not loaded yet: also checks that it is well-formed. @throws as `requirePermittedKey` */
export function requireCertifiableKey(spki: Uint8Array, policy: AlgorithmPolicy, fips: boolean): void {
  requireLoadable('PublicKey', requirePermittedKey(spki, policy, fips))
}

/** Names of OpenSSL's curves in policies. */
const curveNames: ReadonlyMap<string, string> = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
])
