import { decapsulate, decodeEncapsulation } from '../encapsulation.ts'
import { CovercryptError } from '../error.ts'
import { decodeUserKey } from '../key-bytes.ts'
import { createMasterKey, type MasterKey, type UserKey } from '../keys.ts'
import { parsePolicy, userRights } from '../policy.ts'
import { structureFromJson } from '../structure-formats.ts'
import { createUserKey } from '../user-key.ts'

export const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'))
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/**
 * Decapsulates with a user key and returns the secret in hexadecimal; undefined when it cannot open the
 * encapsulation.
 */
export function openEncapsulation(userKey: UserKey | string, encapsulation: string): string | undefined {
  const key = typeof userKey === 'string' ? decodeUserKey(fromHex(userKey)) : userKey
  try {
    return toHex(decapsulate(key, decodeEncapsulation(fromHex(encapsulation))))
  } catch (error) {
    if (error instanceof CovercryptError && (error.code === 'cannot_open' || error.code === 'malformed'))
      return undefined
    throw error
  }
}

export function createMaster(structure: object): MasterKey {
  return createMasterKey(structureFromJson(structure))
}

export function issue(master: MasterKey, policy: string): { userKey: UserKey; master: MasterKey } {
  return createUserKey(master, userRights(master.structure, parsePolicy(policy)))
}

/** Lists the secrets of a user key by right, in hexadecimal: equal lists mean equal decryption rights. */
export function listSecrets({ rights }: UserKey): Readonly<Record<string, readonly string[]>> {
  const texts = [...rights].map(([right, secrets]) => [
    right,
    secrets.map(
      ({ scalar, decapsulationKey }) =>
        toHex(scalar ?? new Uint8Array()) + toHex(decapsulationKey ?? new Uint8Array()),
    ),
  ])
  return Object.fromEntries(texts.toSorted())
}
