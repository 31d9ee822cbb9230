import { ClientError, type KmsClient } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { printable } from '../admin/table.ts'
import { Words } from '../admin/verb.ts'
import { UsageError } from '../command/command.ts'
import { type KmsVerb, sentenceOf } from '../kms/index.ts'

/** A key in words, for the question. Who may destroy it may not be allowed to read about it. */
async function describe(kms: KmsClient, kid: string): Promise<string> {
  try {
    const { kty, alg, state, linked_kid } = await kms.call('crypto.keys.get', { path: { kid } })
    const half = linked_kid === undefined ? '' : `, with its other half ${linked_kid}`
    return printable(`${kid} (${alg ?? kty}, ${state}${half})`)
  } catch (error) {
    if (error instanceof ClientError && error.kind === 'forbidden') return printable(kid)
    throw error
  }
}

export const destroyKeysVerb: KmsVerb = {
  name: 'destroy',
  words: 'KEY...',
  summary: 'revokes and removes keys, each with the other half of its pair, for ever; asks first',
  parse(args) {
    const kids = [...new Set(new Words(args).names())]
    if (kids.length === 0) throw new UsageError('say which key')
    return async ({ kms, show, confirm }) => {
      const described: string[] = []
      for (const kid of kids) described.push(await describe(kms, kid))
      await confirm(
        `Destroy ${described.join(', ')}? What was encrypted with ${kids.length === 1 ? 'it' : 'them'} cannot be read again.`,
      )
      const destroyed: string[] = []
      for (const kid of kids) {
        try {
          await kms.call('crypto.keys.destroy', { path: { kid } })
        } catch (error) {
          if (!(error instanceof ClientError) || destroyed.length === 0) throw error
          throw new StartupError(
            `destroyed ${destroyed.join(', ')}; then, at ${printable(kid)}: ${sentenceOf(error)}`,
            { cause: error },
          )
        }
        destroyed.push(printable(kid))
      }
      show(
        { destroyed },
        destroyed.map((kid) => `${kid}  destroyed`),
      )
      return 0
    }
  },
}
