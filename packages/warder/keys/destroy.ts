import { StartupError } from '@warder/base'
import { ClientError, type KmsClient } from '@warder/client'
import { printable, UsageError } from '@warder/command-line'
import { formatClientError, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { formatDate } from './life-format.ts'

/** Describes a key for the confirmation; only by its id without the right getattributes. */
async function describeKey(kms: KmsClient, kid: string): Promise<string> {
  const key = await withKeyErrors('key', kid, () =>
    kms.call('crypto.keys.get', { path: { kid } }).catch((error: unknown) => {
      if (error instanceof ClientError && error.kind === 'forbidden') return undefined
      throw error
    }),
  )
  if (key === undefined) return printable(kid)
  const { kty, alg, state, linked_kid } = key
  const half = linked_kid === undefined ? '' : `, with its other half ${linked_kid}`
  return printable(`${kid} (${alg ?? kty}, ${state}${half})`)
}

export const destroyKeysVerb = kmsVerb({
  name: 'destroy',
  words: 'KEY...',
  summary: 'Destroy keys for good, each with the other half of its pair; asks first',
  about: `A service with pending_destruction_days destroys the key only after that time; until then the key cannot be used, and
warder keys restore cancels the destruction. A destroyed key cannot be recovered: data that it encrypted is unreadable,
and its signatures can be verified only with a copy of its public half. Requires the rights revoke and destroy on the
named half. All keys are looked up before the confirmation.`,
  examples: ['warder keys destroy KEY', 'warder keys destroy KEY1 KEY2 --yes'],
  interrupted: 'warder keys list shows the remaining keys',
  options: {},
  parse(_, names) {
    const kids = [...new Set(names.map(readKid))]
    if (kids.length === 0) throw new UsageError('name at least one key')
    return async ({ kms, show, confirm }) => {
      const described: string[] = []
      for (const kid of kids) described.push(await describeKey(kms, kid))
      await confirm(
        `Destroy ${described.join(', ')}? Data that ${kids.length === 1 ? 'it' : 'they'} encrypted becomes unreadable.`,
      )
      const destroyed: string[] = []
      const waiting: { kid: string; destruction_at: string }[] = []
      const gone: string[] = []
      for (const kid of kids) {
        try {
          const waits = await kms.call('crypto.keys.destroy', { path: { kid } })
          if (waits !== undefined) {
            waiting.push(waits)
            continue
          }
        } catch (error) {
          // If both halves of a pair were named, the second is destroyed with the first.
          if (error instanceof ClientError && error.kind === 'not_found') {
            gone.push(printable(kid))
            continue
          }
          const done = [...destroyed, ...waiting.map(({ kid }) => printable(kid))]
          if (!(error instanceof ClientError) || done.length === 0) throw error
          throw new StartupError(
            `destroyed ${done.join(', ')}; then, at ${printable(kid)}: ${formatClientError(error)}`,
            { cause: error },
          )
        }
        destroyed.push(printable(kid))
      }
      show({ destroyed, waiting, gone }, [
        ...destroyed.map((kid) => `${kid}  destroyed`),
        ...waiting.map(
          ({ kid, destruction_at: at }) =>
            `${printable(kid)}  destruction pending until ${printable(formatDate(at))}; warder keys restore cancels it`,
        ),
        ...gone.map((kid) => `${kid}  was already destroyed`),
      ])
      return 0
    }
  },
})
