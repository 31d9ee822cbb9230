import type { Input, Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Act } from '../../../parts/act-form.tsx'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { toCommand } from '../../../parts/command.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field, Form } from '../../../parts/field.tsx'
import { FilterForm } from '../../../parts/filters.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Time } from '../../../parts/time.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { Acme } from './acme.tsx'
import { authorityPath } from './authorities.tsx'
import { CertificateState, certificatePath, type State } from './state.tsx'
import { formatFingerprint } from './tree.ts'

const words = texts.certificates
type Authority = Reply<'pki.authorities.get'>
type Certificate = Reply<'pki.certificates.list'>[number]
type Query = NonNullable<Input<'pki.certificates.list'>['query']>

const states: readonly State[] = ['valid', 'hold', 'revoked', 'expired']
const profiles = ['server', 'client', 'code_signing', 'spiffe'] as const

/** One authority: where its revocations are published, and what it has issued. */
export function Room({ path: { id = '' }, query }: RoomProps) {
  const authority = kms.useOperation('pki.authorities.get', { path: { id } })
  if (authority.error !== null)
    return (
      <>
        <RoomHeader title={words.authority} />
        <Failure error={authority.error} retry={() => void authority.refetch()} />
      </>
    )
  if (authority.data === undefined) return <Skeleton />
  return (
    <>
      <RoomHeader title={words.authority}>
        <bdi>{authority.data.subject}</bdi>
      </RoomHeader>
      <Facts authority={authority.data} />
      <h2>{words.issued}</h2>
      <Issued id={id} query={query} />
      <Act title={words.issue}>
        <Issue id={id} permitted={authority.data.profiles} />
      </Act>
      <section aria-label={words.acme} className="part">
        <h2>{words.acme}</h2>
        <p>{words.acmeHelp}</p>
        <Acme id={id} />
      </section>
    </>
  )
}

function Facts({ authority }: { readonly authority: Authority }) {
  const { id, kid, issuer, crl, certificate, chain } = authority
  return (
    <>
      <dl className="facts">
        <dt>{words.id}</dt>
        <dd>
          <code>{id}</code>
        </dd>
        <dt>{words.key}</dt>
        <dd>
          <Link to={`/ui/keys/${encodeURIComponent(kid)}`}>
            <code>{kid}</code>
          </Link>
        </dd>
        <dt>{words.issuer}</dt>
        <dd>
          {issuer === null ? (
            <bdi>{authority.issuer_name}</bdi>
          ) : (
            <Link to={authorityPath(issuer)}>
              <bdi>{authority.issuer_name}</bdi>
            </Link>
          )}
        </dd>
        <dt>{words.ends}</dt>
        <dd>
          <Time at={authority.not_after} />
        </dd>
        <dt>{words.fingerprint}</dt>
        <dd>
          <code>{formatFingerprint(authority.fingerprint)}</code>
        </dd>
        <dt>{words.crl}</dt>
        <dd>{crl === undefined ? words.noCrl(authority.signs_crl) : <CrlState crl={crl} />}</dd>
        <dt>{words.crlUrl}</dt>
        <dd>{authority.crl_url ?? words.noUrl}</dd>
        <dt>{words.ocspUrl}</dt>
        <dd>{authority.ocsp_url ?? words.noUrl}</dd>
      </dl>
      <CodeBlock
        label={words.pem}
        samples={[
          { title: words.pem, code: certificate },
          ...(chain === '' ? [] : [{ title: words.chain, code: chain }]),
          { title: texts.parts.command, code: toCommand('warder pki show', [id]) },
        ]}
      />
    </>
  )
}

function CrlState({ crl }: { readonly crl: NonNullable<Authority['crl']> }) {
  return (
    <>
      {words.crlNumber(crl.number)} <Time at={crl.this_update} isShort /> ({words.next}:{' '}
      <Time at={crl.next_update} isShort />)
    </>
  )
}

const columns: readonly Column<Certificate>[] = [
  {
    title: words.subject,
    value: ({ subject }) => subject,
    cell: ({ id, subject, serial }) => {
      const name = <bdi>{subject === '' ? serial : subject}</bdi>
      return id === undefined ? name : <Link to={certificatePath(id)}>{name}</Link>
    },
  },
  {
    title: words.state,
    value: ({ state, reason }) => (reason === undefined ? state : `${state}: ${reason}`),
    cell: ({ state, reason }) => <CertificateState state={state} reason={reason} />,
  },
  { title: words.profile, value: ({ profile }) => profile },
  {
    title: words.ends,
    value: (certificate) => certificate.not_after,
    cell: (certificate) => <Time at={certificate.not_after} isShort />,
  },
  { title: words.owner, value: ({ owner }) => owner },
  { title: words.serial, value: ({ serial }) => serial, cell: ({ serial }) => <code>{serial}</code> },
]

type Filter = Readonly<Pick<Query, 'state' | 'subject' | 'expires_before'>>

function readFilter(query: URLSearchParams): Filter {
  const state = states.find((each) => each === query.get('state'))
  const [subject, day] = [query.get('subject')?.trim(), query.get('expires_before')?.trim() ?? '']
  return {
    ...(state !== undefined && { state }),
    ...(subject && { subject }),
    ...(/^\d{4}-\d\d-\d\d$/.test(day) && { expires_before: day }),
  }
}

function Issued({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const filter = readFilter(query)
  const { expires_before: before, ...others } = filter
  const input = {
    path: { id },
    query: { ...others, ...(before !== undefined && { expires_before: `${before}T00:00:00Z` }) },
  }
  const pages = kms.usePages('pki.certificates.list', input, (page) => page)
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  return (
    <>
      <Filters key={query.toString()} id={id} filter={filter} />
      <DataTable
        caption={words.issued}
        columns={columns}
        rows={rows}
        rowKey={({ serial }) => serial}
        command={toCommand('warder pki list', [id], { ...others, 'expires-before': before })}
        empty={<Empty title={words.noneIssued}>{words.noneIssuedHelp}</Empty>}
        loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
        isLoadingMore={isFetchingNextPage}
      />
    </>
  )
}

function Filters({ id, filter }: { readonly id: string; readonly filter: Filter }) {
  const apply = (values: Readonly<Record<string, string>>): void => {
    const given = Object.entries(values).filter(([, value]) => value !== '')
    navigate(`${authorityPath(id)}${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`)
  }
  return (
    <FilterForm label={words.search} onApply={apply}>
      <Field label={words.subject} name="subject" defaultValue={filter.subject ?? ''} />
      <Choice
        label={words.state}
        name="state"
        value={filter.state ?? ''}
        options={[
          { value: '', text: words.anyState },
          ...states.map((state) => ({ value: state, text: words.states[state] })),
        ]}
      />
      <Field
        label={words.endsBefore}
        name="expires_before"
        type="date"
        defaultValue={filter.expires_before ?? ''}
      />
    </FilterForm>
  )
}

function Issue(props: { readonly id: string; readonly permitted: readonly string[] | undefined }) {
  const { id, permitted } = props
  const { mutate, error, isPending } = kms.useAct('pki.certificates.issue')
  const [csr, setCsr] = useState('')
  const offered = profiles.filter((profile) => permitted === undefined || permitted.includes(profile))
  const issue = ({ profile = '', names = '', days = '' }: Readonly<Record<string, string>>): void =>
    mutate(
      {
        path: { id },
        body: {
          csr,
          ...(offered.some((each) => each === profile) && { profile: profile as (typeof profiles)[number] }),
          ...(names.trim() !== '' && { names: names.trim().split(/[\s,]+/) }),
          ...(days !== '' && { days: Number(days) }),
        },
      },
      { onSuccess: (issued) => navigate(certificatePath(issued.id)) },
    )
  return (
    <Form submit={words.issue} error={error} isPending={isPending} onSubmit={issue}>
      <RequestFile setCsr={setCsr} />
      <Field isLong label={words.request} value={csr} onChange={setCsr} isRequired help={words.requestHelp} />
      <Choice
        label={words.profile}
        name="profile"
        options={offered.map((profile) => ({ value: profile, text: profile }))}
      />
      <Field label={words.names} name="names" help={words.namesHelp} />
      <Field label={words.days} name="days" inputMode="numeric" pattern="[0-9]{1,5}" />
    </Form>
  )
}

const maxRequestBytes = 64 * 1024

/** A file with a request; a browser also accepts one that is dropped on the field. */
function RequestFile({ setCsr }: { readonly setCsr: (csr: string) => void }) {
  const read = async (file: File | undefined): Promise<void> => {
    if (file !== undefined && file.size <= maxRequestBytes) setCsr(await file.text())
  }
  return (
    <label className="field">
      <span>{words.requestFile}</span>
      <input
        type="file"
        className="input"
        accept=".csr,.pem,.req"
        onChange={({ target }) => void read(target.files?.[0])}
      />
    </label>
  )
}
