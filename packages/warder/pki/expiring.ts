import { ClientError, type KmsClient, type Reply } from '@warder/client'
import { formatTable, requireNoNames, UsageError } from '@warder/command-line'
import { kmsVerb } from '@warder/command-line/kms'

const defaultDays = 30
const maxDays = 36_500
const day = 86_400_000

export const expiringVerb = kmsVerb({
  name: 'expiring',
  words: '',
  usage: '[OPTIONS]',
  summary: 'List valid certificates that expire soon and have no successor',
  about:
    'Includes all authorities that you may read. Exit code 1: there are any. With --json: {"certificates": […]}.',
  examples: ['warder pki expiring', 'warder pki expiring --days 7'],
  options: { days: { type: 'number', value: 'N', help: `within N days (default ${defaultDays})` } },
  parse({ days = defaultDays }, names) {
    requireNoNames(names)
    if (days < 1 || days > maxDays) throw new UsageError(`--days must be 1 to ${maxDays}`)
    return async ({ kms, show }) => {
      const until = new Date(Date.now() + days * day).toISOString()
      const found: (readonly [authority: string, certificate: Expiring])[] = []
      for await (const authority of fetchAuthorities(kms))
        for await (const certificate of fetchExpiring(kms, authority, until))
          found.push([authority, certificate])
      found.sort(([, one], [, other]) => one.not_after.localeCompare(other.not_after))
      show(
        { certificates: found.map(([authority, certificate]) => ({ authority, ...certificate })) },
        formatTable(
          ['UNTIL', 'CERTIFICATE', 'SUBJECT', 'AUTHORITY'],
          found.map(([authority, { not_after, id = '', subject }]) => [not_after, id, subject, authority]),
          `no valid certificate ends within ${days} days`,
        ),
      )
      return found.length === 0 ? 0 : 1
    }
  },
})

type Expiring = Reply<'pki.certificates.list'>[number]

/** Fetches the ids of the authorities that the caller can see. */
async function* fetchAuthorities(kms: KmsClient): AsyncGenerator<string> {
  let after: string | undefined
  do {
    const page = await kms.page('pki.authorities.list', { query: after === undefined ? {} : { after } })
    for (const { id } of page.rows) yield id
    after = page.next
  } while (after !== undefined)
}

/** Fetches expiring certificates; except those of authorities whose certificates the caller may not read. */
async function* fetchExpiring(kms: KmsClient, id: string, until: string): AsyncGenerator<Expiring> {
  let after: string | undefined
  try {
    do {
      const query = { state: 'valid', expires_before: until, limit: '1000', ...(after && { after }) } as const
      const page = await kms.page('pki.certificates.list', { path: { id }, query })
      // The service renews the certificates of its OCSP responders automatically, every week.
      yield* page.rows.filter(
        ({ replaced_by, profile }) => replaced_by === undefined && profile !== 'ocsp_responder',
      )
      after = page.next
    } while (after !== undefined)
  } catch (error) {
    if (!(error instanceof ClientError) || error.status !== 403) throw error
  }
}
