import { printable } from '../admin/table.ts'
import { Words } from '../admin/verb.ts'
import { UsageError } from '../command/command.ts'
import type { KmsVerb } from '../kms/index.ts'

function tagVerb(word: 'add' | 'remove', summary: string): KmsVerb {
  return {
    name: `tag ${word}`,
    words: 'KEY TAG...',
    summary,
    parse(args) {
      const [kid, ...tags] = new Words(args).names()
      if (kid === undefined || tags.length === 0) throw new UsageError('say which key, and which tags')
      return async ({ kms, show }) => {
        const after = await kms.call(`key.tags.${word}`, { path: { kid }, body: { tags } })
        const list = after.tags.length === 0 ? 'no tags' : after.tags.map(printable).join(', ')
        show(after, [`${printable(after.kid)}  ${list}`])
        return 0
      }
    },
  }
}

export const addTagsVerb = tagVerb('add', 'adds tags; jwks publishes an active public key')
export const removeTagsVerb = tagVerb('remove', 'takes tags off')
