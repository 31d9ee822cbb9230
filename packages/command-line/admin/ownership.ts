import { StartupError } from '@warder/base'
import { ClientError, type KmsClient } from '@warder/client'
import { printable } from '../terminal/table.ts'

/** Objects and grants at the key management service of a user who is about to be deleted. */
export interface Ownership {
  /** A sentence without its full stop. */
  readonly line: string
  /** For `--json`. */
  readonly document: Readonly<Record<string, unknown>>
  /** Transfers them to the new owner, if there is one. @returns a sentence about it */
  transfer(): Promise<string | undefined>
}

/**
 * Queries the objects of a user at the kms.
 * @param newOwner user who gets it; undefined = no user
 * @throws StartupError when there is a new owner and the kms cannot be reached
 */
export function readUserOwnership(
  kms: KmsClient | undefined,
  realm: string,
  username: string,
  newOwner: string | undefined,
): Promise<Ownership> {
  return readOwnership(kms, { user_id: username, realm }, newOwner)
}

/** Queries the objects of a machine at the kms. @param entity entity of its tokens */
export function readMachineOwnership(
  kms: KmsClient | undefined,
  entity: string,
  newOwner: string | undefined,
): Promise<Ownership> {
  return readOwnership(kms, { user_id: `app:${entity}` }, newOwner)
}

type HoldingsQuery = { readonly user_id: string; readonly realm?: string }

async function readOwnership(
  kms: KmsClient | undefined,
  query: HoldingsQuery,
  newOwner: string | undefined,
): Promise<Ownership> {
  const held = await fetchHoldings(kms, query)
  if (kms === undefined || held === undefined || typeof held === 'string') {
    const reason = typeof held === 'string' ? held : 'its address is not known'
    if (newOwner !== undefined)
      throw new StartupError(`nothing was changed: the kms cannot be reached: ${reason}`)
    return {
      line: `Their objects at the kms are not known (${reason})`,
      document: { kms: null },
      transfer: async () => undefined,
    }
  }
  const { user_id: user, owned, granted } = held
  const what = `${owned} objects at the kms and has grants on ${granted}`
  const who = newOwner === undefined ? 'no user inherits them' : `${printable(newOwner)} inherits them`
  return {
    line: `${printable(user)} owns ${what}; ${who}`,
    document: { kms: { user, owned, granted, heir: newOwner ?? null } },
    async transfer() {
      if (newOwner === undefined) return undefined
      const body = { from_user_id: user, to_user_id: newOwner }
      const { objects, grants } = await kms.call('access.transfer', { body }).catch((error: unknown) => {
        throw new StartupError(`nothing was deleted: ${formatError(error)}`)
      })
      return `transferred to ${printable(newOwner)}: ${objects} objects, ${grants} granted rights`
    },
  }
}

async function fetchHoldings(kms: KmsClient | undefined, query: HoldingsQuery) {
  if (kms === undefined) return undefined
  try {
    return await kms.call('access.holdings', { query })
  } catch (error) {
    return formatError(error)
  }
}

function formatError(error: unknown): string {
  if (error instanceof ClientError || error instanceof Error) return error.message
  return String(error)
}
