import type { Reply } from '@warder/client'
import { formatTable, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import { readId } from './arguments.ts'

const states = ['valid', 'hold', 'revoked', 'expired'] as const
const defaultLimit = 100
const maxRows = 1_000_000
const pageSize = 1000

export const listCertificatesVerb = kmsVerb({
  name: 'list',
  words: 'AUTHORITY',
  summary: 'List the certificates of an authority, by expiry',
  about: 'With --json: {"certificates": […], "next": PLACE or null}.',
  examples: [
    'warder pki list AUTHORITY',
    'warder pki list AUTHORITY --state valid --expires-before 2026-12-31',
    'warder pki list AUTHORITY --subject www',
  ],
  options: {
    state: { type: 'text', value: 'S', help: `only certificates in this state: ${states.join(', ')}` },
    subject: { type: 'text', value: 'T', help: 'only certificates with this text in their subject' },
    'expires-before': { type: 'text', value: 'DATE', help: 'only certificates that expire before this date' },
    limit: { type: 'number', value: 'N', help: `maximum number of certificates (default ${defaultLimit})` },
    after: { type: 'text', value: 'PLACE', help: 'continues after this certificate' },
  },
  parse({ state: word, subject, 'expires-before': expires, limit = defaultLimit, after }, names) {
    const id = readId(requireOneName(names, 'authority'))
    const state = states.find((each) => each === word)
    if (word !== undefined && state === undefined)
      throw new UsageError(`--state must be one of ${states.join(', ')}, not '${word}'`)
    if (limit < 1 || limit > maxRows) throw new UsageError(`--limit must be 1 to ${maxRows}`)
    const filter = {
      ...(state !== undefined && { state }),
      ...(subject !== undefined && { subject }),
      ...(expires !== undefined && { expires_before: expires }),
    }
    return async ({ kms, show }) => {
      const certificates: Reply<'pki.certificates.list'>[number][] = []
      let next: string | undefined = after
      do {
        const pageLimit = String(Math.min(pageSize, limit - certificates.length))
        const query = { ...filter, limit: pageLimit, ...(next !== undefined && { after: next }) }
        const page = await withKeyErrors('authority', id, () =>
          kms.page('pki.certificates.list', { path: { id }, query }),
        )
        certificates.push(...page.rows)
        next = page.next
      } while (next !== undefined && certificates.length < limit)
      const rows = certificates.map((each) => [
        each.id ?? '',
        each.state,
        each.not_after,
        each.profile ?? '',
        each.subject,
      ])
      show({ certificates, next: next ?? null }, [
        ...formatTable(
          ['CERTIFICATE', 'STATE', 'UNTIL', 'PROFILE', 'SUBJECT'],
          rows,
          'no certificates match',
        ),
        ...(next === undefined
          ? []
          : ['', `there are more: warder pki list ${id} --limit ${limit} --after ${next}`]),
      ])
      return 0
    }
  },
})
