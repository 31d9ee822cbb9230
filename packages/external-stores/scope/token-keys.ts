import { failure } from '@warder/base'
import { type ExternalStoreName, everyPrincipal, type Key } from '@warder/keys'
import { createRemoteKeySet, type KeySet, type VerificationKey } from '@warder/server'
import { granteeNamed, requireGrantedKey } from './granted-key.ts'
import type { ExternalEnvironment, ExternalStoreServices } from './scope.ts'

/** Age of a cached set from which callers wait for its refresh; they use a younger set during the refresh. */
const waitAfterSeconds = 86_400

/**
 * Key sets of issuers by URL, each fetched on first use and cached. URLs come from settings, never from a token, which
 * bounds the number of sets.
 */
export function issuerKeys({
  outbound,
  clock,
  log,
}: Pick<ExternalEnvironment<never>, 'outbound' | 'clock' | 'log'>): (address: string) => KeySet {
  const sets = new Map<string, KeySet>()
  return (address) => {
    const known = sets.get(address)
    if (known !== undefined) return known
    const set = createRemoteKeySet({ url: address, outbound, clock, log, waitAfterSeconds })
    sets.set(address, set)
    return set
  }
}

/** Tokens that this service signs for a store are of this algorithm. */
export const ownAlgorithm = 'RS256'

/**
 * Returns an RSA key from the settings that was granted to a store (`google:*`) to sign its own tokens.
 * @throws Failure while the key may not sign
 */
export async function ownSigningKey(
  services: ExternalStoreServices,
  store: ExternalStoreName,
  kid: string,
): Promise<Key> {
  const granted = await requireGrantedKey(services, granteeNamed(store, everyPrincipal), kid, 'sign')
  const key = await services.namedKeys.require(granted)
  const verdict = key.mayUse('sign', services.clock.now())
  if (!verdict.allowed) throw failure('crypto_failure', verdict.sentence)
  const { object } = key.requireBoundTo(ownAlgorithm)
  if (object.type !== 'PrivateKey' || object.algorithm !== 'RSA')
    throw failure('crypto_failure', 'The signing key is not an RSA private key.')
  return key
}

/** The key id that `/v1/crypto/sign` writes into signatures, too. */
export function toPublishedKid({ object }: Key): string {
  return object.linkedId ?? object.id
}

/** The key set for tokens that such a key signed. No token is accepted while the key may not sign. */
export function ownKeySet(services: ExternalStoreServices, store: ExternalStoreName, kid: string): KeySet {
  return {
    async find(wanted): Promise<readonly VerificationKey[]> {
      const key = await ownSigningKey(services, store, kid).catch(() => undefined)
      if (key === undefined) return []
      const algorithms = [ownAlgorithm]
      const published = { kid: toPublishedKid(key), key: key.publicMaterial.key, algorithms }
      return wanted === undefined || wanted === published.kid ? [published] : []
    },
  }
}
