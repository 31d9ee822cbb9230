import { ClientError, type KmsClient } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { printable } from '../cli/table.ts'

/** Objects and grants that a user about to be deleted has at the key management service. */
export interface Estate {
  /** A sentence without its full stop. */
  readonly line: string
  /** For `--json`. */
  readonly document: Readonly<Record<string, unknown>>
  /** Gives it to the heir, where there is one. @returns what was given, for people */
  transfer(): Promise<string | undefined>
}

/**
 * Asks the kms what a user has there.
 * @param heir who gets it; undefined = nobody
 * @throws StartupError when there is an heir and nothing can be given
 */
export function estateOf(
  kms: KmsClient | undefined,
  realm: string,
  username: string,
  heir: string | undefined,
): Promise<Estate> {
  return estate(kms, { user_id: username, realm }, heir)
}

/** The same of a machine. @param entity of its tokens */
export function machineEstateOf(
  kms: KmsClient | undefined,
  entity: string,
  heir: string | undefined,
): Promise<Estate> {
  return estate(kms, { user_id: `app:${entity}` }, heir)
}

type Question = { readonly user_id: string; readonly realm?: string }

async function estate(
  kms: KmsClient | undefined,
  question: Question,
  heir: string | undefined,
): Promise<Estate> {
  const held = await holdings(kms, question)
  if (kms === undefined || held === undefined || typeof held === 'string') {
    const reason = typeof held === 'string' ? held : 'it is not known where it is'
    if (heir !== undefined) throw new StartupError(`nothing was changed: the kms cannot be asked: ${reason}`)
    return {
      line: `What they own at the kms is not known here (${reason})`,
      document: { kms: null },
      transfer: async () => undefined,
    }
  }
  const { user_id: user, owned, granted } = held
  const what = `${owned} objects at the kms and has grants on ${granted}`
  const who = heir === undefined ? 'nobody inherits them' : `${printable(heir)} inherits them`
  return {
    line: `${printable(user)} owns ${what}; ${who}`,
    document: { kms: { user, owned, granted, heir: heir ?? null } },
    async transfer() {
      if (heir === undefined) return undefined
      const body = { from_user_id: user, to_user_id: heir }
      const { objects, grants } = await kms.call('access.transfer', { body }).catch((error: unknown) => {
        throw new StartupError(`nothing was deleted: ${sentenceOf(error)}`)
      })
      return `${printable(heir)} has what was theirs: ${objects} objects, ${grants} rights by grants`
    },
  }
}

async function holdings(kms: KmsClient | undefined, query: Question) {
  if (kms === undefined) return undefined
  try {
    return await kms.call('access.holdings', { query })
  } catch (error) {
    return sentenceOf(error)
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof ClientError || error instanceof Error) return error.message
  return String(error)
}
