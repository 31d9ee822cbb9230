import { createPrivateKey } from 'node:crypto'
import { setBounded } from '@warder/foundation/runtime'
import type { Seal } from '@warder/foundation/seal'
import { type Database, UniqueViolation } from '@warder/foundation/sql'
import type { SpKey } from './configured-keys.ts'
import { newSpKey } from './new-key.ts'
import { type KeptSpKey, listSpKeys, openSpKey, spKeyInsertion } from './sp-key-store.ts'

/** The keys of the service provider: the same for all realms and, from the database, for all nodes. */
export interface SpKeys {
  /** The one that signs now, then all others that are published. All of them decrypt. */
  list(): Promise<readonly [SpKey, ...SpKey[]]>
  /** Those of the database; undefined where they are the operator's files. */
  readonly stored: SpKeyParts | undefined
}

export interface SpKeyParts {
  readonly db: Database
  readonly seal: Seal
  /** Unix seconds. */
  now(): number
}

/** Two are usual, while one follows the other. */
const maxOpened = 8

/** Keys of the database. The first one is made soon after the first start, or when it is needed, if that is sooner. */
export function createStoredSpKeys(parts: SpKeyParts): SpKeys {
  const { db, seal, now } = parts
  const opened = new Map<number, SpKey>()

  async function open({ generation, certificate }: KeptSpKey): Promise<SpKey | undefined> {
    const known = opened.get(generation)
    if (known !== undefined && known.certificate === certificate) return known
    const der = await openSpKey(db, seal, generation)
    if (der === undefined) return undefined
    const key = { certificate, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
    der.fill(0)
    setBounded(opened, generation, key, maxOpened)
    return key
  }

  return {
    stored: parts,
    async list() {
      const kept = await ensureSpKeys(parts)
      const signing = signingKey(kept, now())
      const ordered = [signing, ...kept.filter((key) => key !== signing)]
      const [first, ...others] = (await Promise.all(ordered.map(open))).filter((key) => key !== undefined)
      if (first === undefined) throw new Error('the SAML key is not in the database')
      return [first, ...others]
    },
  }
}

export function createConfiguredSpKeys(keys: readonly [SpKey, ...SpKey[]]): SpKeys {
  return { list: async () => keys, stored: undefined }
}

/** The newest of those whose time has come; the oldest before that. @param kept the newest first */
export function signingKey(kept: readonly KeptSpKey[], now: number): KeptSpKey {
  const found = kept.find(({ signsFrom }) => signsFrom <= now) ?? kept.at(-1)
  if (found === undefined) throw new Error('there is no SAML key')
  return found
}

/** All keys of the database, the newest first; makes the first one. */
export async function ensureSpKeys(parts: SpKeyParts): Promise<readonly KeptSpKey[]> {
  const kept = await listSpKeys(parts.db)
  if (kept.length > 0) return kept
  await makeSpKey(parts, { generation: 1, signsFrom: parts.now() })
  return listSpKeys(parts.db)
}

/** Makes a key. Of two nodes that make the same generation one does; the other finds it made. */
async function makeSpKey(
  { db, seal, now }: SpKeyParts,
  { generation, signsFrom }: Pick<KeptSpKey, 'generation' | 'signsFrom'>,
): Promise<void> {
  const { certificate, pkcs8 } = await newSpKey(now())
  try {
    await db.commit([spKeyInsertion(seal, { generation, certificate, signsFrom, createdAt: now() }, pkcs8)])
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  } finally {
    pkcs8.fill(0)
  }
}
