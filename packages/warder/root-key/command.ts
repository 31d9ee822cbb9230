import {
  homeVerb,
  printable,
  requireNoNames,
  type Terminal,
  UsageError,
  verbCommand,
} from '@warder/command-line'
import { serviceNames } from '@warder/command-line/endpoints'
import { type RootKeySourceName, rootKeySources } from '@warder/root-key-providers/settings'
import {
  checkRootKeyMembers,
  createProvider,
  describeRootKeySource,
  findRootKeyProblem,
  openRootKeys,
  rootKeySource,
  type ServiceLaunch,
} from '@warder/runtime/launch'
import {
  describeSet,
  findRecoverySet,
  findSharedRootKey,
  isUnsealed,
  listRootKeySources,
  loadRootKeys,
  testProvider,
} from '@warder/storage'
import { configureService, move, requireHome, rotate, type ServiceDatabase, withDatabases } from './change.ts'
import { readShareOptions, shareOptions } from './new-shares.ts'
import { createRecoverySet, recover } from './recovery.ts'

const showVerb = homeVerb({
  name: 'show',
  words: '',
  summary: 'Show where the root key of each service is, since when, and whether it can be used now',
  examples: ['warder root-key show --home /var/lib/warder'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return (context) => withDatabases(context, showSources)
  },
})

const testVerb = homeVerb({
  name: 'test',
  words: '',
  summary:
    'Test a source: wrap and unwrap a random value, or let holders enter their shares; changes nothing',
  examples: ['warder root-key test --to transit --home /var/lib/warder'],
  options: { to: sourceOption('source to test before a move (default: root_key_source)') },
  parse({ to }, names) {
    requireNoNames(names)
    const kind = readSource(to)
    return async ({ home, terminal }) => {
      requireHome(home)
      if (rootKeySource(configureService('kms', home, terminal), kind).kind === 'shares')
        return withDatabases({ home, terminal }, testShares)
      for (const service of serviceNames)
        await testSource(service, configureService(service, home, terminal), kind, terminal)
      return 0
    }
  },
})

const moveVerb = homeVerb({
  name: 'move',
  words: '',
  summary: 'Create a new root key in another source, and rewrap the data keys of both services',
  about: `Configure the new source first, and leave root_key_source as it is. Each database is moved in one commit; after an
interruption run the command again. Then set root_key_source, and restart the services.`,
  examples: [
    'warder root-key move --to transit --home /var/lib/warder',
    'warder root-key move --to shares --holders holders.txt --threshold 3 --home /var/lib/warder',
  ],
  options: { to: sourceOption('the new source (required)'), ...shareOptions },
  parse({ to, ...values }, names) {
    requireNoNames(names)
    const kind = requireSource(to)
    const shares = readShareOptions(values)
    requireSharesFor(kind, shares)
    return (context) =>
      withDatabases(context, (databases, terminal) => move(databases, kind, terminal, { shares }))
  },
})

const rotateVerb = homeVerb({
  name: 'rotate',
  words: '',
  summary: 'Create a new root key in the same source, and rewrap the data keys of both services',
  examples: ['warder root-key rotate --home /var/lib/warder'],
  options: shareOptions,
  parse(values, names) {
    requireNoNames(names)
    const shares = readShareOptions(values)
    return (context) => rotate(context, shares)
  },
})

const recoveryCreateVerb = homeVerb({
  name: 'recovery create',
  words: '',
  summary: 'Create shares that open both databases if the source of the root key is lost',
  about: `For every source but shares. The command encrypts each share for its holder, and keeps no copy. Rotations and moves keep
the set, and need none of its shares. To change holders, create another set, which replaces the present one. The audit
log has the record root_key.recovery_created.`,
  examples: ['warder root-key recovery create --holders holders.txt --threshold 3 --home /var/lib/warder'],
  options: shareOptions,
  parse(values, names) {
    requireNoNames(names)
    const shares = readShareOptions(values)
    return (context) =>
      withDatabases(context, (databases, terminal) => createRecoverySet(databases, shares, terminal))
  },
})

const recoverVerb = homeVerb({
  name: 'recover',
  words: '',
  summary: 'Move the root key to a source that works, with the shares of the recovery set',
  about: `Use it if the source of the root key is lost. Holders enter their shares at this terminal, one after the other, or
standard input contains the shares, one per line. After an interruption run the command again. The audit log has the
record root_key.recovered with the names of the holders.`,
  examples: ['warder root-key recover --to file --home /var/lib/warder'],
  options: {
    to: sourceOption('the new source (required); it may be of the same kind as the lost one'),
    ...shareOptions,
  },
  parse({ to, ...values }, names) {
    requireNoNames(names)
    const kind = requireSource(to)
    const shares = readShareOptions(values)
    requireSharesFor(kind, shares)
    return (context) =>
      withDatabases(context, (databases, terminal) => recover(databases, kind, shares, terminal))
  },
})

export const rootKey = verbCommand({
  name: 'root-key',
  summary: 'Show, test, rotate, move or recover the root key of the installation',
  about: `Stored rows are not changed, and the services may be running. After an interruption all data stays readable: run the
command again to finish.

  file          rotate replaces root.key with a new key; make a new copy of it afterwards
  environment   the new key is WARDER_ROOT_KEY_NEW (32 bytes in base64url), the old one WARDER_ROOT_KEY
  passphrase    the new one is WARDER_ROOT_KEY_PASSPHRASE_NEW, the old one WARDER_ROOT_KEY_PASSPHRASE
  systemd       the new one is the credential root.key.new, the old one root.key (root_key_credential)
  shares        a new key for each service, and new shares of it for the holders in --holders (root_key_shares)
  transit       a new key for each service, wrapped by a key of Vault, OpenBao or another Warder (root_key_transit)
  kmip          a new key for each service, wrapped by a key of a KMIP server (root_key_kmip)
  pkcs11        a new key for each service, wrapped by a key of a PKCS#11 token (root_key_pkcs11)
  aws-kms       a new key for each service, wrapped by a key of AWS KMS (root_key_aws)
  azure-key-vault   a new key for each service, wrapped by a key of Azure Key Vault or Managed HSM (root_key_azure)
  google-kms    a new key for each service, wrapped by a key of Google Cloud KMS (root_key_google)

rotate, move, recovery create and recover require an approved request (warder officers ask root-key) if
approvals.operations of the kms contains root_key.`,
  verbs: [showVerb, testVerb, moveVerb, rotateVerb, recoveryCreateVerb, recoverVerb],
})

function sourceOption(help: string) {
  return { type: 'text', value: 'SOURCE', help } as const
}

/** @throws UsageError */
function requireSource(text: string | undefined): RootKeySourceName {
  const kind = readSource(text)
  if (kind !== undefined) return kind
  throw new UsageError(`name the new source: --to ${rootKeySources.join(' | ')}`)
}

/** @throws UsageError for options that would have no effect */
function requireSharesFor(kind: RootKeySourceName, shares: object | undefined): void {
  if (kind !== 'shares' && shares !== undefined)
    throw new UsageError('--holders, --threshold, --output and --name are for --to shares')
}

function readSource(text: string | undefined): RootKeySourceName | undefined {
  const found = rootKeySources.find((source) => source === text)
  if (text !== undefined && found === undefined)
    throw new UsageError(`--to must be ${rootKeySources.join(', ')}, not ${JSON.stringify(text)}`)
  return found
}

async function showSources(databases: readonly ServiceDatabase[], terminal: Terminal): Promise<number> {
  let usable = true
  for (const database of databases) {
    const { db, service, launch } = database
    const configured = launch.config.root_key_source
    const rows = await listRootKeySources(db)
    const [row] = rows
    const problem = (await isUnsealed(db))
      ? 'the service was never started'
      : await findRootKeyProblem(launch, { db, service, from: row?.source })
    usable &&= problem === undefined
    terminal.out(`${service.padEnd(6)}${row?.source ?? configured}`)
    terminal.out(`      where    ${printable(row?.description ?? (await describeRootKeySource(launch)))}`)
    if (row !== undefined) terminal.out(`      since    ${new Date(row.created_at).toISOString()}`)
    if (row !== undefined && row.source !== configured)
      terminal.out(
        `      settings root_key_source is ${configured}: a start is refused until it is ${row.source}`,
      )
    if (row?.source === 'shares') terminal.out(`      holders  ${await describeHolders(database)}`)
    terminal.out(`      recovery ${await describeRecovery(db)}`)
    terminal.out(`      usable   ${problem === undefined ? 'yes' : `no: ${problem}`}`)
    const members = await checkRootKeyMembers(launch, { service, db, from: row?.source }).catch(() => [])
    for (const { description, problem } of members)
      terminal.out(
        `      ${problem === undefined ? 'opens' : 'fails'}    ${description}${problem === undefined ? '' : `: ${problem}`}`,
      )
  }
  return usable ? 0 : 1
}

async function describeHolders({ db, service }: ServiceDatabase): Promise<string> {
  const { holders = [] } = (await findSharedRootKey(db, service))?.set ?? {}
  return printable(holders.map(({ name }) => name).join(', '))
}

async function describeRecovery(db: ServiceDatabase['db']): Promise<string> {
  const set = await findRecoverySet(db)
  if (set === undefined) return 'none: if the source is lost, nothing opens the database'
  const { threshold, holders, createdAt } = set
  const names = holders.map(({ name }) => name).join(', ')
  return printable(
    `${threshold} of ${names}, set ${describeSet(set)}, since ${new Date(createdAt).toISOString()}`,
  )
}

/** Tests whether the shares that holders enter open both databases. */
async function testShares(databases: readonly ServiceDatabase[], terminal: Terminal): Promise<number> {
  for (const { db, service, launch } of databases) {
    const [key] = await openRootKeys(launch, { db, service, from: 'shares' })
    terminal.out(`${service.padEnd(6)}${key?.from}: they open the database`)
  }
  return 0
}

async function testSource(
  service: string,
  launch: ServiceLaunch,
  kind: RootKeySourceName | undefined,
  terminal: Terminal,
): Promise<void> {
  const source = rootKeySource(launch, kind)
  if (source.kind === 'shares') return
  if (source.kind === 'provider') {
    const provider = await createProvider(source.name, launch)
    for (const member of provider.members ?? [provider]) {
      await testProvider(member, service)
      terminal.out(`${service.padEnd(6)}${member.description}: a random value was wrapped and unwrapped`)
    }
    return
  }
  const [key] = loadRootKeys(source, launch.env, { create: false })
  if (key !== undefined) terminal.out(`${service.padEnd(6)}${key.from}: contains a root key`)
}
