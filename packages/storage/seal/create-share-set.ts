import { generateKeyPairSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { StartupError } from '@warder/base'
import { computeCheck, encodePayload, formatShare, idBytes } from './share.ts'
import { ShareCollection } from './share-collection.ts'
import { isShareName, maxHolders, maxNameBytes, type ShareHolder, type ShareSet } from './share-set.ts'
import { unwrapWithSet, wrapForSet } from './share-set-wrap.ts'

interface NewShareSet {
  readonly installation: string
  readonly threshold: number
  readonly holders: readonly ShareHolder[]
  readonly now: number
}

/**
 * Creates a set, and splits its new secret, which is wiped before this returns.
 * @returns the public part, and the text of each share in the order of the holders
 * @throws StartupError for a threshold or holders that cannot be a set
 */
export async function createShareSet(
  options: NewShareSet,
): Promise<{ readonly set: ShareSet; readonly shares: readonly string[] }> {
  requireSet(options)
  const { installation, threshold, holders, now } = options
  const { splitSecret } = await import('@warder/crypto')
  const id = randomBytes(idBytes)
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const secret = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url')
  const { parts } = splitSecret(secret, {
    method: 'PolynomialSharingGF28',
    parts: holders.length,
    threshold,
    primeFieldSize: undefined,
  })
  const payloads = parts.map(({ identifier, bytes }) =>
    encodePayload(id, threshold, { number: identifier, value: bytes, installation }),
  )
  const shares = payloads.map(formatShare)
  const set: ShareSet = {
    id: id.toString('hex'),
    installation,
    threshold,
    holders: holders.map(({ name, recipient }, index) => ({
      name,
      recipient,
      check: computeCheck(payloads[index] ?? Buffer.alloc(0)).toString('base64url'),
    })),
    publicKey: publicKey.export({ format: 'jwk' }).x ?? '',
    createdAt: now,
  }
  await requireOpening(set, shares.slice(-threshold))
  for (const bytes of [secret, ...payloads, ...parts.map((part) => part.bytes)]) bytes.fill(0)
  return { set, shares }
}

/** A test before the set is used: its shares must decrypt a value that its public key encrypted. */
async function requireOpening(set: ShareSet, shares: readonly string[]): Promise<void> {
  const collection = new ShareCollection(set)
  for (const share of shares) collection.add(share)
  const secret = await collection.combine()
  const [key, context] = [randomBytes(32), Buffer.from('self-test')]
  const unwrapped = unwrapWithSet(set, secret, wrapForSet(set, key, context), context)
  if (!unwrapped.use((bytes) => timingSafeEqual(bytes, key)))
    throw new StartupError('the new shares do not open their set: nothing was changed')
  secret.wipe()
  collection.wipe()
}

function requireSet({ installation, threshold, holders }: NewShareSet): void {
  if (!isShareName(installation))
    throw new StartupError(
      `the name of the installation must have 1 to ${maxNameBytes} bytes of letters, digits, dots, dashes and spaces`,
    )
  if (holders.length < 2 || holders.length > maxHolders)
    throw new StartupError(`shares need 2 to ${maxHolders} holders, not ${holders.length}`)
  if (threshold < 2 || threshold > holders.length)
    throw new StartupError(
      `the threshold must be 2 to ${holders.length} (the number of holders), not ${threshold}`,
    )
  for (const [what, values] of [
    ['name', holders.map(({ name }) => name.toLowerCase())],
    ['recipient', holders.map(({ recipient }) => recipient.toLowerCase())],
  ] as const) {
    const twice = values.find((value, index) => values.indexOf(value) !== index)
    if (twice !== undefined) throw new StartupError(`two holders have the ${what} ${twice}: one share each`)
  }
}
