import { UsageError } from '../cli/command.ts'
import { requireOneName } from '../cli/options.ts'
import { formatTable, printable } from '../cli/table.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { kmsVerb } from '../kms/verb.ts'
import { readId } from './arguments.ts'

const challengeTypes = ['http-01', 'dns-01', 'tls-alpn-01'] as const
type ChallengeType = (typeof challengeTypes)[number]

const openVerb = kmsVerb({
  name: 'acme open',
  words: 'AUTHORITY',
  summary: 'lets clients of ACME get certificates from an authority, or changes how',
  about: 'Needs the right authorize on the authority. What is not named is as usual.',
  examples: ['warder pki acme open AUTHORITY --days 30', 'warder pki acme open AUTHORITY --challenge dns-01'],
  options: {
    days: { type: 'number', value: 'N', help: 'validity of certificates (default 90)' },
    profile: { type: 'text', value: 'P', help: 'server (default) or client' },
    challenge: {
      type: 'list',
      value: 'TYPE',
      help: `${challengeTypes.join(', ')}; also several times (default: all)`,
    },
    'orders-per-hour': { type: 'number', value: 'N', help: 'of one account (default 300)' },
    caa: {
      type: 'list',
      value: 'NAME',
      help: 'what the authority is called in CAA records, which are asked then; also several times',
    },
    'without-credentials': {
      type: 'flag',
      help: 'whoever reaches the service may have an account, in your name',
    },
  },
  parse({ days, profile, challenge, caa, 'orders-per-hour': orders, 'without-credentials': free }, names) {
    const id = readId(requireOneName(names, 'authority'))
    if (profile !== undefined && profile !== 'server' && profile !== 'client')
      throw new UsageError(`--profile is server or client, not '${profile}'`)
    const wrong = challenge.find((each) => !challengeTypes.includes(each as ChallengeType))
    if (wrong !== undefined)
      throw new UsageError(`--challenge is one of ${challengeTypes.join(', ')}, not '${wrong}'`)
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
  summary: 'closes an authority for ACME: its accounts can do nothing until it is opened again',
  about: 'Certificates that were issued stay valid.',
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
  summary: 'makes a credential (EAB) with which one ACME client gets an account that acts in your name',
  about: 'Needs the right certify on the authority. The key is shown this once.',
  examples: ['warder pki acme credential AUTHORITY --name web-1'],
  options: {
    name: { type: 'text', value: 'TEXT', help: 'who it is for' },
    days: { type: 'number', value: 'N', help: 'how long an account can be bound with it (default 7)' },
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
  summary: 'the ACME accounts of an authority, and credentials that nobody has used',
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
  summary: 'takes an ACME account its access, or an unused credential back',
  about: 'Certificates of the account stay valid: revoke them with warder pki revoke.',
  examples: [
    'warder pki acme remove AUTHORITY ACCOUNT',
    'warder pki acme remove AUTHORITY CREDENTIAL --credential',
  ],
  options: { credential: { type: 'flag', help: 'ID is that of a credential' } },
  parse({ credential }, [authority = '', other = '', ...more]) {
    if (other === '' || more.length > 0) throw new UsageError('say which authority, and which account')
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
