import { BoundedMap, type Failure, failure } from '@warder/base'
import { type Database, GuardFailed } from '@warder/storage'
import { findReservedInvocations, maxInvocations, reserveBlock } from './gcm-budget-store.ts'
import type { ManagedObject } from './managed-object.ts'

/** A key that comes after another one under the same identifier has a budget of its own. */
export type BudgetedKey = Pick<ManagedObject, 'id' | 'createdAt'>

/** Counts the AES-GCM encryptions of every key across processes and restarts. */
export interface GcmBudgets {
  /**
   * Takes one invocation; synchronous unless a new block has to be reserved first.
   * @throws failure('crypto_failure') when the key has none left
   * @throws failure('not_found') when the key is not stored (any more)
   * @throws StorageUnavailable when no block can be reserved now
   */
  take(key: BudgetedKey): Promise<void> | undefined
  readonly size: number
}

interface Block {
  readonly createdAt: number
  left: number
  size: number
  pending: Promise<void> | undefined
  /** true: the budget is used up, so no reservation is tried again. */
  spent: boolean
}

/** The first block of a process is small, so that restarts waste little; each next one doubles. */
const firstBlock = 1024
const maxBlock = 2 ** 20

/**
 * Invocations are reserved in blocks by an atomic UPDATE that must not pass 2^32 (SP 800-38D §8.3), and used up from
 * memory. The rest of a block counts as used when the process ends or the key leaves this map. The next block is
 * reserved when a quarter is left, so that requests do not wait for it under load.
 */
export function createGcmBudgets(db: Pick<Database, 'commit' | 'get'>, capacity: number): GcmBudgets {
  const blocks = new BoundedMap<string, Block>(capacity)

  const reserve = (id: string, block: Block): Promise<void> => {
    const size = Math.min(maxBlock, block.size === 0 ? firstBlock : block.size * 2)
    block.pending = commitBlock(id, size)
      .then((reserved) => {
        block.left += reserved
        block.size = reserved
        block.spent = reserved === 0
      })
      .finally(() => {
        block.pending = undefined
      })
    return block.pending
  }

  /**
   * Reserves a block; near the end of the budget it tries smaller and smaller ones.
   * @returns the number of reserved invocations; 0 when none are left
   * @throws failure('not_found'), which is not cached: a key with this identifier may be stored at any time
   */
  const commitBlock = async (id: string, wanted: number): Promise<number> => {
    for (let size = wanted; size >= 1; size = Math.floor(size / 32)) {
      try {
        await db.commit([reserveBlock(id, size)])
        return size
      } catch (error) {
        if (!(error instanceof GuardFailed)) throw error
      }
    }
    const reserved = await findReservedInvocations(db, id)
    // The budget in the database has room, so it was created after the tries: the requested key did not exist then.
    if (reserved === undefined || reserved <= maxInvocations - wanted)
      throw failure('not_found', 'The key does not exist (any more).')
    return 0
  }

  const getBlock = ({ id, createdAt }: BudgetedKey): Block => {
    const known = blocks.get(id)
    if (known?.createdAt === createdAt) return known
    const block: Block = { createdAt, left: 0, size: 0, pending: undefined, spent: false }
    blocks.set(id, block)
    return block
  }

  const takeLater = async (id: string, block: Block): Promise<void> => {
    // The waiting requests may outnumber a small block: the last ones request another.
    while (block.left === 0) {
      if (block.spent) throw spentBudget()
      await (block.pending ?? reserve(id, block))
    }
    block.left -= 1
  }

  return {
    take(key) {
      const block = getBlock(key)
      const { id } = key
      if (block.left === 0) return takeLater(id, block)
      block.left -= 1
      // A failure here does not concern this caller: the caller that finds the block empty gets it.
      if (block.left < block.size / 4 && block.pending === undefined && !block.spent) {
        reserve(id, block).catch(() => undefined)
      }
      return undefined
    },
    get size() {
      return blocks.size
    },
  }
}

function spentBudget(): Failure {
  return failure(
    'crypto_failure',
    'This key has encrypted 2^32 messages, the maximum for AES-GCM: rotate it (POST /v1/crypto/keys/{kid}/rotate, warder keys rotate KEY; KMIP: ReKey), which starts a new count. Its ciphertexts can still be decrypted.',
  )
}
