import type { Input, Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { authorityPath } from './authorities.tsx'
import { Renewal } from './renewal.tsx'
import { CertificateState, certificatePath } from './state.tsx'

const words = texts.certificates
type Certificate = Reply<'pki.certificates.get'>
type Reason = NonNullable<NonNullable<Input<'pki.certificates.revoke'>['body']>['reason']>

const reasons: readonly Reason[] = [
  ...(['unspecified', 'keyCompromise', 'affiliationChanged', 'superseded'] as const),
  ...(['cessationOfOperation', 'certificateHold', 'privilegeWithdrawn'] as const),
]

/** One certificate that an authority of this service issued. */
export function Room({ path: { id = '' } }: RoomProps) {
  const { data, error, refetch } = kms.useOperation('pki.certificates.get', { path: { id } })
  if (error !== null)
    return (
      <>
        <RoomHeader title={words.certificate} />
        <Failure error={error} retry={() => void refetch()} />
      </>
    )
  if (data === undefined) return <Skeleton />
  return (
    <>
      <RoomHeader title={words.certificate}>
        <bdi>{data.subject}</bdi>
      </RoomHeader>
      <Facts certificate={data} />
      <Acts id={id} certificate={data} />
      {data.authority !== undefined && data.state !== 'revoked' && <Renewal id={id} />}
      {data.certificate !== undefined && (
        <CodeBlock
          label={words.pem}
          samples={[
            { title: words.pem, code: data.certificate },
            { title: texts.parts.command, code: toCommand('warder pki show', [id]) },
          ]}
        />
      )}
    </>
  )
}

function Facts({ certificate }: { readonly certificate: Certificate }) {
  const { state, reason, names = [], serial, owner, authority, fingerprint } = certificate
  return (
    <dl className="facts">
      <dt>{words.state}</dt>
      <dd>
        <CertificateState state={state} reason={reason} />
      </dd>
      <dt>{words.names}</dt>
      <dd>
        <bdi>{names.join(', ')}</bdi>
      </dd>
      <dt>{words.ends}</dt>
      <dd>
        <Time at={certificate.not_after} />
      </dd>
      <dt>{words.owner}</dt>
      <dd>
        <bdi>{owner}</bdi>
      </dd>
      <dt>{words.serial}</dt>
      <dd>
        <code>{serial}</code>
      </dd>
      {fingerprint !== undefined && (
        <>
          <dt>{words.fingerprint}</dt>
          <dd>
            <code>{fingerprint}</code>
          </dd>
        </>
      )}
      {authority !== undefined && (
        <>
          <dt>{words.authority}</dt>
          <dd>
            <Link to={authorityPath(authority)}>
              <bdi>{certificate.issuer ?? authority}</bdi>
            </Link>
          </dd>
        </>
      )}
    </dl>
  )
}

function Acts({ id, certificate }: { readonly id: string; readonly certificate: Certificate }) {
  const { state, subject, serial } = certificate
  const revoke = kms.useAct('pki.certificates.revoke')
  const release = kms.useAct('pki.certificates.release')
  const renew = kms.useAct('pki.certificates.renew')
  const [reason, setReason] = useState<Reason>('unspecified')
  const failed = release.error ?? renew.error
  return (
    <div className="actions">
      {(state === 'valid' || state === 'hold') && (
        <Confirm
          verb={words.revoke}
          title={words.revokeTitle(subject === '' ? serial : subject)}
          onConfirm={() => revoke.mutateAsync({ path: { id }, body: { reason } })}
        >
          <p>{words.revokeHelp}</p>
          <label className="field">
            <span>{words.reason}</span>
            <select
              className="input"
              value={reason}
              onChange={({ target }) => setReason(target.value as Reason)}
            >
              {reasons.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
        </Confirm>
      )}
      {state === 'hold' && (
        <button type="button" className="button" onClick={() => release.mutate({ path: { id } })}>
          {words.release}
        </button>
      )}
      {state !== 'revoked' && (
        <button
          type="button"
          className="button"
          disabled={renew.isPending}
          onClick={() =>
            renew.mutate(
              { path: { id } },
              {
                onSuccess: (issued) => {
                  showToast(words.renewed)
                  navigate(certificatePath(issued.id))
                },
              },
            )
          }
        >
          {words.renew}
        </button>
      )}
      {failed !== null && <Failure error={failed} />}
    </div>
  )
}
