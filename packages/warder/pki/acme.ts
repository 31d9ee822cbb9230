import { formatTable, printable, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import { readId } from './arguments.ts'

const challengeTypes = ['http-01', 'dns-01', 'tls-alpn-01'] as const
type ChallengeType = (typeof challengeTypes)[number]

const openVerb = kmsVerb({
  name: 'acme open',
  words: 'AUTHORITY',
  summary: 'Open an authority to ACME clients, or change its ACME settings',
  about: 'Requires the right authorize on the authority. Options that are not given have their defaults.',
  examples: ['warder pki acme open AUTHORITY --days 30', 'warder pki acme open AUTHORITY --challenge dns-01'],
  options: {
    days: { type: 'number', value: 'N', help: 'validity of certificates (default 90)' },
    profile: { type: 'text', value: 'P', help: 'server (default) or client' },
    challenge: {
      type: 'list',
      value: 'TYPE',
      help: `${challengeTypes.join(', ')}; repeatable (default: all)`,
    },
    'orders-per-hour': { type: 'number', value: 'N', help: 'limit of orders of one account (default 300)' },
    caa: {
      type: 'list',
      value: 'NAME',
      help: 'name of the authority in CAA records, which enables their check; repeatable',
    },
    'without-credentials': {
      type: 'flag',
      help: 'permits accounts in your name to every client that can reach the service',
    },
  },
  parse({ days, profile, challenge, caa, 'orders-per-hour': orders, 'without-credentials': free }, names) {
    const id = readId(requireOneName(names, 'authority'))
    if (profile !== undefined && profile !== 'server' && profile !== 'client')
      throw new UsageError(`--profile must be server or client, not '${profile}'`)
    const wrong = challenge.find((each) => !challengeTypes.includes(each as ChallengeType))
    if (wrong !== undefined)
      throw new UsageError(`--challenge must be one of ${challengeTypes.join(', ')}, not '${wrong}'`)
    const body = {
      ...(days !== undefined && { days }),
      ...(profile !== undefined && { profile }),
      ...(challenge.length > 0 && { challenges: challenge as readonly ChallengeType[] }),
      ...(caa.length > 0 && { caa_identities: caa }),
      ...(orders !== undefined && { orders_per_hour: orders }),
      ...(free && { external_account_required: false }),
    }
    return async ({ kms, show }) => {
      const open = await withKeyErrors('authority', id, () =>
        kms.call('pki.acme.open', { path: { id }, body: body as never }),
      )
      show(open, [printable(open.directory)])
      return 0
    }
  },
})

const closeVerb = kmsVerb({
  name: 'acme close',
  words: 'AUTHORITY',
  summary: 'Close an authority to ACME clients; its accounts are suspended until it is opened again',
  about: 'Issued certificates stay valid.',
  examples: ['warder pki acme close AUTHORITY'],
  options: {},
  parse(_, names) {
    const id = readId(requireOneName(names, 'authority'))
    return async ({ kms, show }) => {
      await withKeyErrors('authority', id, () => kms.call('pki.acme.close', { path: { id } }))
      show({ closed: id }, [`${printable(id)}  closed`])
      return 0
    }
  },
})

const credentialVerb = kmsVerb({
  name: 'acme credential',
  words: 'AUTHORITY',
  summary: 'Create a credential (EAB) for one ACME client, whose account then acts in your name',
  about: 'Requires the right certify on the authority. The key is shown only once.',
  examples: ['warder pki acme credential AUTHORITY --name web-1'],
  options: {
    name: { type: 'text', value: 'TEXT', help: 'label of the credential' },
    days: { type: 'number', value: 'N', help: 'days until the credential expires (default 7)' },
  },
  parse({ name, days }, names) {
    const id = readId(requireOneName(names, 'authority'))
    const body = { ...(name !== undefined && { name }), ...(days !== undefined && { days }) }
    return async ({ kms, show }) => {
      const made = await withKeyErrors('authority', id, () =>
        kms.call('pki.acme.credentials.create', { path: { id }, body }),
      )
      show(made, [
        `directory  ${printable(made.directory)}`,
        `kid        ${printable(made.kid)}`,
        `hmac key   ${printable(made.hmac_key)}`,
        `until      ${printable(made.expires_at)}`,
      ])
      return 0
    }
  },
})

const listVerb = kmsVerb({
  name: 'acme list',
  words: 'AUTHORITY',
  summary: 'List the ACME accounts and the unused credentials of an authority',
  about: 'With --json: {"accounts": […], "credentials": […]}.',
  examples: ['warder pki acme list AUTHORITY'],
  options: {},
  parse(_, names) {
    const id = readId(requireOneName(names, 'authority'))
    return async ({ kms, show }) => {
      const accounts = await fetchAllPages((query) =>
        withKeyErrors('authority', id, () => kms.call('pki.acme.accounts.list', { path: { id }, query })),
      )
      const credentials = await fetchAllPages((query) =>
        withKeyErrors('authority', id, () => kms.call('pki.acme.credentials.list', { path: { id }, query })),
      )
      const all = accounts.flatMap((page) => page.accounts)
      const unused = credentials
        .flatMap((page) => page.credentials)
        .filter(({ account }) => account === undefined)
      show({ accounts: all, credentials: unused }, [
        ...formatTable(
          ['ACCOUNT', 'STATUS', 'OWNER', 'CONTACT'],
          all.map((each) => [each.id, each.status, each.owner, each.contact.join(' ')]),
          'there are no accounts',
        ),
        '',
        ...formatTable(
          ['CREDENTIAL', 'UNTIL', 'OWNER', 'FOR'],
          unused.map((each) => [each.kid, each.expires_at, each.owner, each.name]),
          'there are no unused credentials',
        ),
      ])
      return 0
    }
  },
})

async function fetchAllPages<P extends { readonly next?: string }>(
  read: (query: { readonly after?: string }) => Promise<P>,
): Promise<readonly P[]> {
  const pages: P[] = []
  let after: string | undefined
  do {
    const page = await read(after === undefined ? {} : { after })
    pages.push(page)
    after = page.next
  } while (after !== undefined)
  return pages
}

const removeVerb = kmsVerb({
  name: 'acme remove',
  words: 'AUTHORITY ID',
  summary: 'Revoke an ACME account, or delete an unused credential',
  about: 'Certificates of the account stay valid: revoke them with warder pki revoke.',
  examples: [
    'warder pki acme remove AUTHORITY ACCOUNT',
    'warder pki acme remove AUTHORITY CREDENTIAL --credential',
  ],
  options: { credential: { type: 'flag', help: 'ID is the id of a credential' } },
  parse({ credential }, [authority = '', other = '', ...more]) {
    if (other === '' || more.length > 0) throw new UsageError('name the authority and the account')
    const [id, which] = [readId(authority), readId(other)]
    return async ({ kms, show }) => {
      if (credential)
        await withKeyErrors('credential', which, () =>
          kms.call('pki.acme.credentials.delete', { path: { id, kid: which } }),
        )
      else
        await withKeyErrors('account', which, () =>
          kms.call('pki.acme.accounts.revoke', { path: { id, account: which } }),
        )
      show({ removed: which }, [`${printable(which)}  removed`])
      return 0
    }
  },
})

export const acmeVerbs = [openVerb, closeVerb, credentialVerb, listVerb, removeVerb] as const
