import { useEffect } from 'react'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Act, ActForm } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { type Column, CopyMenu } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'
import { type Authority, type Branch, flatten, formatFingerprint, toTree } from './tree.ts'

import './authorities.css'

const words = texts.certificates

const algorithms = ['ES256', 'ES384', 'RS256', 'EdDSA', 'ML-DSA-65']

export const authorityPath = (id: string): string => `/ui/authorities/${encodeURIComponent(id)}`

/** Of copies. */
const columns: readonly Column<Authority>[] = [
  { title: words.subject, value: ({ subject }) => subject },
  { title: words.issuer, value: (authority) => authority.issuer_name },
  { title: words.ends, value: (authority) => authority.not_after },
  { title: words.profiles, value: ({ profiles }) => profiles ?? words.allProfiles },
  { title: words.maxDays, value: (authority) => authority.max_days },
  { title: words.unexpired, value: ({ unexpired }) => unexpired },
  { title: words.nextList, value: ({ crl }) => crl?.next_update },
  { title: words.crlUrl, value: (authority) => authority.crl_url },
  { title: words.ocspUrl, value: (authority) => authority.ocsp_url },
  { title: words.fingerprint, value: ({ fingerprint }) => fingerprint },
  { title: words.id, value: ({ id }) => id },
]

/** Further pages follow only on request: the tree is one page of the browser. */
const maxLoaded = 1000

/** Certificate authorities that the user may use, from the roots down. */
export function Room() {
  const pages = kms.usePages('pki.authorities.list', {}, (page) => page)
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
  const loadsMore = hasNextPage && !isFetchingNextPage && (rows?.length ?? 0) < maxLoaded
  useEffect(() => {
    if (loadsMore) void fetchNextPage()
  }, [loadsMore, fetchNextPage])
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      <p>
        <Link to="/ui/calendar">{texts.calendar.toCalendar}</Link>
      </p>
      {error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : rows === undefined ? (
        <Skeleton />
      ) : rows.length === 0 ? (
        <Empty title={words.empty}>{words.emptyHelp}</Empty>
      ) : (
        <Tree authorities={rows} loadMore={hasNextPage ? () => void fetchNextPage() : undefined} />
      )}
      <Act title={words.create}>
        <Create authorities={rows ?? []} />
      </Act>
    </>
  )
}

function Tree(props: {
  readonly authorities: readonly Authority[]
  readonly loadMore: (() => void) | undefined
}) {
  const { authorities, loadMore } = props
  const branches = toTree(authorities)
  return (
    <section aria-label={words.caption}>
      <Branches branches={branches} />
      <div className="table-foot">
        <span className="quiet" role="status">
          {texts.parts.rowsLoaded(authorities.length, loadMore !== undefined)}
        </span>
        {loadMore !== undefined && (
          <button type="button" className="button" onClick={loadMore}>
            {texts.parts.more}
          </button>
        )}
        <CopyMenu columns={columns} rows={flatten(branches)} command="warder pki authorities" />
      </div>
    </section>
  )
}

function Branches({ branches }: { readonly branches: readonly Branch[] }) {
  return (
    <ul className="tree">
      {branches.map(({ authority, below }) => (
        <li key={authority.id}>
          <Node authority={authority} />
          {below.length > 0 && <Branches branches={below} />}
        </li>
      ))}
    </ul>
  )
}

function Node({ authority }: { readonly authority: Authority }) {
  const { id, subject, issuer, issuer_name: issuerName, unexpired, ocsp_url: ocspUrl } = authority
  const isRoot = subject === issuerName
  return (
    <article className="authority" aria-label={subject}>
      <p className="authority-name">
        <Link to={authorityPath(id)}>
          <bdi>{subject}</bdi>
        </Link>{' '}
        <span className="quiet">
          {isRoot ? words.root : words.below}
          {!isRoot && issuer === null && (
            <>
              : <bdi>{issuerName}</bdi> ({words.elsewhere})
            </>
          )}
        </span>
      </p>
      <dl className="authority-facts">
        <div>
          <dt>{words.ends}</dt>
          <dd>
            <Time at={authority.not_after} isShort />
          </dd>
        </div>
        <div>
          <dt>{words.unexpired}</dt>
          <dd>{words.counted(unexpired)}</dd>
        </div>
        <div>
          <dt>{words.crl}</dt>
          <dd>
            <ListState authority={authority} />
          </dd>
        </div>
        <div>
          <dt>{words.ocspUrl}</dt>
          <dd>{ocspUrl ?? words.noUrl}</dd>
        </div>
        {isRoot && (
          <div className="fingerprint">
            <dt>{words.fingerprint}</dt>
            <dd>
              <code>{formatFingerprint(authority.fingerprint)}</code>
            </dd>
          </div>
        )}
      </dl>
    </article>
  )
}

/** The revocation list: whether clients still accept it, until when, and its address. */
function ListState({ authority }: { readonly authority: Authority }) {
  const { crl, crl_url: crlUrl, signs_crl: signsCrl } = authority
  if (crl === undefined) return <Status kind="neutral">{words.noCrl(signsCrl)}</Status>
  const isCurrent = Date.parse(crl.next_update) > Date.now()
  return (
    <>
      <Status kind={isCurrent ? 'good' : 'danger'}>{isCurrent ? words.listCurrent : words.listEnded}</Status>{' '}
      <Time at={crl.next_update} isShort />
      {crlUrl !== undefined && (
        <>
          <br />
          {crlUrl}
        </>
      )}
    </>
  )
}

function Create({ authorities }: { readonly authorities: readonly Authority[] }) {
  const { mutateAsync } = kms.useAct('pki.authorities.create')
  return (
    <ActForm
      submit={words.create}
      command={({ subject = '', issuer = '', alg = '', days = '' }) =>
        toCommand('warder pki create', [subject || 'SUBJECT'], { issuer, alg, days })
      }
      act={async ({ subject = '', issuer = '', alg = '', days = '' }) => {
        const { id } = await mutateAsync({
          body: {
            ...{ subject, alg },
            ...(issuer !== '' && { issuer }),
            ...(days !== '' && { days: Number(days) }),
          },
        })
        navigate(authorityPath(id))
      }}
    >
      <Field label={words.subject} name="subject" help={words.subjectHelp} isRequired />
      <Choice
        label={words.issuer}
        name="issuer"
        options={[
          { value: '', text: words.itself },
          ...authorities.map(({ id, subject }) => ({ value: id, text: subject })),
        ]}
      />
      <Choice
        label={words.algorithm}
        name="alg"
        options={algorithms.map((alg) => ({ value: alg, text: alg }))}
      />
      <Field label={words.days} name="days" inputMode="numeric" pattern="[0-9]{1,5}" help={words.daysHelp} />
    </ActForm>
  )
}
