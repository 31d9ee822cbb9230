import { ClientError, type Input, type Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { Act, ActForm, CommandCode, type Values } from '../../../parts/act-form.tsx'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Check, Choice, Field } from '../../../parts/field.tsx'
import { Secret, useShownOnce } from '../../../parts/secret.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'

const words = texts.acme
type Settings = Reply<'pki.acme.show'>
type Credential = Reply<'pki.acme.credentials.list'>['credentials'][number]
type Account = Reply<'pki.acme.accounts.list'>['accounts'][number]
type Created = Reply<'pki.acme.credentials.create'>
type Challenge = NonNullable<NonNullable<Input<'pki.acme.open'>['body']['challenges']>[number]>

const challenges: readonly Challenge[] = ['http-01', 'dns-01', 'tls-alpn-01']

/** Whether clients of ACME get certificates of an authority, and which of them. */
export function Acme({ id }: { readonly id: string }) {
  const { data, error, refetch } = kms.useOperation('pki.acme.show', { path: { id } })
  const isClosed = error instanceof ClientError && error.status === 404
  if (error instanceof ClientError && error.status === 403) return <p className="notice">{words.noRight}</p>
  if (error !== null && !isClosed) return <Failure error={error} retry={() => void refetch()} />
  if (isClosed)
    return (
      <>
        <p>
          <Status kind="neutral">{words.closed}</Status>
        </p>
        <Act title={words.open}>
          <Open id={id} settings={undefined} />
        </Act>
      </>
    )
  if (data === undefined) return <Skeleton />
  return (
    <>
      <Facts settings={data} />
      <ClientCode settings={data} />
      <Credentials id={id} />
      <Accounts id={id} />
      <Act title={words.change}>
        <Open id={id} settings={data} />
      </Act>
      <Close id={id} />
    </>
  )
}

function Facts({ settings }: { readonly settings: Settings }) {
  const { directory, profile, days, external_account_required: needsCredential } = settings
  return (
    <dl className="facts">
      <dt>{words.state}</dt>
      <dd>
        <Status kind={needsCredential ? 'good' : 'warning'}>
          {needsCredential ? words.opened : words.openedToAll}
        </Status>
      </dd>
      <dt>{words.directory}</dt>
      <dd>
        <code>{directory}</code>
      </dd>
      <dt>{words.certificates}</dt>
      <dd>{words.issues(profile, days)}</dd>
      <dt>{words.challenges}</dt>
      <dd>{settings.challenges.join(', ')}</dd>
      <dt>{words.orders}</dt>
      <dd>{settings.orders_per_hour}</dd>
      {settings.caa_identities !== undefined && settings.caa_identities.length > 0 && (
        <>
          <dt>{words.caa}</dt>
          <dd>
            <bdi>{settings.caa_identities.join(', ')}</bdi>
          </dd>
        </>
      )}
    </dl>
  )
}

/** How clients get a certificate. @param props.kid of a credential, if there is one at hand */
function ClientCode({ settings, kid }: { readonly settings: Settings; readonly kid?: string }) {
  const { directory, external_account_required: needsCredential } = settings
  const [at, id] = [quoteShell(directory), kid === undefined ? '"$KID"' : quoteShell(kid)]
  const certbot = needsCredential ? ` --eab-kid ${id} --eab-hmac-key "$HMAC_KEY"` : ''
  const lego = needsCredential ? ` --eab --eab.kid ${id} --eab.hmac "$HMAC_KEY"` : ''
  const name = 'www.example.com'
  return (
    <CodeBlock
      label={words.client}
      samples={[
        { title: 'certbot', code: `certbot certonly --standalone --server ${at}${certbot} -d ${name}` },
        { title: 'lego', code: `lego run --server ${at}${lego} --http --domains ${name}` },
      ]}
    />
  )
}

interface OpenProps {
  readonly id: string
  /** undefined: it is not open yet. */
  readonly settings: Settings | undefined
}

/** The form has some of the settings: the others stay. */
function Open({ id, settings }: OpenProps) {
  const { mutateAsync } = kms.useAct('pki.acme.open')
  const isAllowed = (type: Challenge): boolean => settings?.challenges.includes(type) ?? true
  return (
    <ActForm
      submit={settings === undefined ? words.open : words.change}
      done={words.saved}
      command={(values) =>
        toCommand('warder pki acme open', [id], {
          ...{ days: values.days, profile: values.profile, challenge: readChallenges(values) },
          'orders-per-hour': settings?.orders_per_hour,
          caa: settings?.caa_identities ?? [],
          'without-credentials': values.credential !== 'yes',
        })
      }
      act={(values) => {
        const { directory: _, profile: _profile, challenges: _challenges, ...same } = settings ?? {}
        return mutateAsync({
          path: { id },
          body: {
            ...same,
            ...(values.days !== undefined && values.days !== '' && { days: Number(values.days) }),
            profile: values.profile === 'client' ? 'client' : 'server',
            challenges: readChallenges(values),
            external_account_required: values.credential === 'yes',
          },
        })
      }}
    >
      <Field
        label={words.days}
        name="days"
        inputMode="numeric"
        pattern="[0-9]{1,5}"
        defaultValue={String(settings?.days ?? 90)}
      />
      <Choice
        label={words.profile}
        name="profile"
        value={settings?.profile ?? 'server'}
        options={['server', 'client'].map((profile) => ({ value: profile, text: profile }))}
      />
      <fieldset className="choices">
        <legend>{words.challenges}</legend>
        {challenges.map((type) => (
          <Check key={type} name={type} label={type} isSelected={isAllowed(type)} />
        ))}
      </fieldset>
      <Check
        name="credential"
        label={words.needsCredential}
        isSelected={settings?.external_account_required ?? true}
      />
    </ActForm>
  )
}

const readChallenges = (values: Values): readonly Challenge[] =>
  challenges.filter((type) => values[type] === 'yes')

function Close({ id }: { readonly id: string }) {
  const { mutateAsync } = kms.useAct('pki.acme.close')
  return (
    <Confirm verb={words.close} title={words.closeTitle} onConfirm={() => mutateAsync({ path: { id } })}>
      <p>{words.closeEnds}</p>
      <CommandCode command={toCommand('warder pki acme close', [id])} />
    </Confirm>
  )
}

function Credentials({ id }: { readonly id: string }) {
  const pages = kms.usePages('pki.acme.credentials.list', { path: { id } }, ({ credentials }) => credentials)
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
  const columns: readonly Column<Credential>[] = [
    { title: words.kid, value: ({ kid }) => kid, cell: ({ kid }) => <code>{kid}</code> },
    { title: words.name, value: ({ name }) => name },
    { title: words.owner, value: ({ owner }) => owner },
    {
      title: words.usableUntil,
      value: (row) => row.expires_at,
      cell: (row) => (row.account === undefined ? <Time at={row.expires_at} isShort /> : words.bound),
    },
    { title: words.account, value: ({ account }) => account },
    {
      title: words.delete,
      value: () => undefined,
      cell: ({ kid }) => <DeleteCredential id={id} kid={kid} />,
    },
  ]
  return (
    <>
      <h3>{words.credentials}</h3>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {error === null && (
        <DataTable
          caption={words.credentials}
          columns={columns}
          rows={rows}
          rowKey={({ kid }) => kid}
          command={toCommand('warder pki acme list', [id])}
          empty={<p className="quiet">{words.noCredentials}</p>}
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
      <CreateCredential id={id} />
    </>
  )
}

function CreateCredential({ id }: { readonly id: string }) {
  const { mutateAsync } = kms.useAct('pki.acme.credentials.create')
  const settings = kms.useOperation('pki.acme.show', { path: { id } }).data
  const [created, show] = useShownOnce<Created>()
  return (
    <>
      {created !== undefined && (
        <>
          <Secret label={words.hmacKey} value={created.hmac_key} />
          <p>
            {words.kid}: <code>{created.kid}</code>. {words.usableUntil}:{' '}
            <Time at={created.expires_at} isShort />
          </p>
          {settings !== undefined && <ClientCode settings={settings} kid={created.kid} />}
        </>
      )}
      <Act title={words.create}>
        <ActForm
          submit={words.create}
          done={words.created}
          command={({ name, days }) => toCommand('warder pki acme credential', [id], { name, days })}
          act={async ({ name = '', days = '' }) => {
            const body = { ...(name !== '' && { name }), ...(days !== '' && { days: Number(days) }) }
            show(await mutateAsync({ path: { id }, body }))
          }}
        >
          <p className="quiet">{words.createHelp}</p>
          <Field label={words.name} name="name" />
          <Field
            label={words.createDays}
            name="days"
            inputMode="numeric"
            pattern="[0-9]{1,3}"
            help={words.createDaysHelp}
          />
        </ActForm>
      </Act>
    </>
  )
}

function DeleteCredential({ id, kid }: { readonly id: string; readonly kid: string }) {
  const { mutateAsync } = kms.useAct('pki.acme.credentials.delete')
  return (
    <Confirm
      verb={words.delete}
      title={words.deleteTitle(kid)}
      onConfirm={() => mutateAsync({ path: { id, kid } })}
    >
      <p>{words.deleteEnds}</p>
      <CommandCode command={toCommand('warder pki acme remove', [id, kid], { credential: true })} />
    </Confirm>
  )
}

function Accounts({ id }: { readonly id: string }) {
  const pages = kms.usePages('pki.acme.accounts.list', { path: { id } }, ({ accounts }) => accounts)
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
  const columns: readonly Column<Account>[] = [
    { title: words.account, value: (row) => row.id, cell: (row) => <code>{row.id}</code> },
    {
      title: words.state,
      value: ({ status }) => status,
      cell: ({ status }) => <Status kind={status === 'valid' ? 'good' : 'neutral'}>{status}</Status>,
    },
    { title: words.owner, value: ({ owner }) => owner },
    { title: words.contact, value: ({ contact }) => contact },
    {
      title: words.since,
      value: (row) => row.created_at,
      cell: (row) => <Time at={row.created_at} isShort />,
    },
    {
      title: words.revoke,
      value: () => undefined,
      cell: (row) => row.status === 'valid' && <RevokeAccount id={id} account={row.id} />,
    },
  ]
  return (
    <>
      <h3>{words.accounts}</h3>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {error === null && (
        <DataTable
          caption={words.accounts}
          columns={columns}
          rows={rows}
          rowKey={(row) => row.id}
          command={toCommand('warder pki acme list', [id])}
          empty={<p className="quiet">{words.noAccounts}</p>}
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
    </>
  )
}

function RevokeAccount({ id, account }: { readonly id: string; readonly account: string }) {
  const { mutateAsync } = kms.useAct('pki.acme.accounts.revoke')
  return (
    <Confirm
      verb={words.revoke}
      title={words.revokeTitle(account)}
      onConfirm={() => mutateAsync({ path: { id, account } })}
    >
      <p>{words.revokeEnds}</p>
      <CommandCode command={toCommand('warder pki acme remove', [id, account])} />
    </Confirm>
  )
}
