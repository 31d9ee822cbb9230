import { type ReactNode, useId } from 'react'
import { auth } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { useInfo } from '../../../frame/session.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { useShownOnce } from '../../../parts/secret.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'
import { Passkeys } from './passkeys.tsx'
import { Password } from './password.tsx'
import { type Account, AccountProvider, useAccountAct } from './recent-login.tsx'
import { RecoveryCodesDialog } from './recovery-codes.tsx'
import { Sessions } from './sessions.tsx'
import { Totp } from './totp.tsx'

const words = texts.account

/** What a user sees and changes of their own account. */
export function Room() {
  const { data, error, refetch } = auth.useOperation('account.get', {})
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton />}
      {data !== undefined && (
        <AccountProvider account={data}>
          <Sections account={data} />
        </AccountProvider>
      )}
    </>
  )
}

function Sections({ account }: { readonly account: Account }) {
  const [codes, setCodes] = useShownOnce<readonly string[]>()
  return (
    <div className="sections">
      <Section title={words.you}>
        <You account={account} />
      </Section>
      <Section title={texts.password.title}>
        <Password />
      </Section>
      <Section title={texts.totp.title}>
        <Totp onCodes={setCodes} />
      </Section>
      <Section title={texts.passkeys.title}>
        <Passkeys onCodes={setCodes} />
      </Section>
      {(account.totp || account.passkeys > 0) && (
        <Section title={texts.recovery.title}>
          <Recovery account={account} onCodes={setCodes} />
        </Section>
      )}
      <Section title={texts.ownSessions.title}>
        <Sessions />
      </Section>
      <Section title={words.keys}>
        <Keys />
      </Section>
      {codes !== undefined && (
        <RecoveryCodesDialog username={account.username} codes={codes} onStored={() => setCodes(undefined)} />
      )}
    </div>
  )
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const id = useId()
  return (
    <section className="section" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  )
}

function You({ account }: { readonly account: Account }) {
  const { administers, auth_scheme: scheme } = account
  return (
    <dl className="facts">
      <dt>{words.name}</dt>
      <dd>
        <bdi>{account.username}</bdi>
      </dd>
      <dt>{words.realm}</dt>
      <dd>
        <bdi>{account.realm_id}</bdi>
      </dd>
      <dt>{words.loggedInBy}</dt>
      <dd>{words.methods[scheme] ?? scheme}</dd>
      <dt>{words.since}</dt>
      <dd>
        <Time at={account.created_at * 1000} />
      </dd>
      <dt>{words.until}</dt>
      <dd>
        <Time at={account.ends_at * 1000} />
        <div className="quiet">
          {words.untilHelp} <Time at={account.expires_at * 1000} isShort />
        </div>
      </dd>
      <dt>{words.administers}</dt>
      <dd>
        {administers.includes('_')
          ? words.administersAll
          : administers.join(', ') || words.administersNothing}
      </dd>
    </dl>
  )
}

function Recovery(props: {
  readonly account: Account
  readonly onCodes: (codes: readonly string[]) => void
}) {
  const { account, onCodes } = props
  const renew = useAccountAct(async () => {
    const { recovery_codes: codes } = await auth.client.call('account.renew_codes')
    onCodes(codes)
  })
  return (
    <>
      <p>
        {texts.recovery.count(account.recovery_codes)}. {texts.recovery.help}
      </p>
      <Confirm
        verb={texts.recovery.renew}
        title={texts.recovery.renewTitle}
        onConfirm={() => renew.mutateAsync()}
      >
        <p>{texts.recovery.renewHelp}</p>
      </Confirm>
    </>
  )
}

/** Keys and rights are at the other service. */
function Keys() {
  const other = useInfo().data?.other
  if (other?.service !== 'kms') return <p>{words.keysUnknown}</p>
  const url = other.url.replace(/\/+$/, '')
  return (
    <>
      <p>{words.keysHelp}</p>
      <p className="actions">
        <a className="button" href={`${url}/ui/keys`}>
          {words.toKeys}
        </a>
        <a className="button" href={`${url}/ui/access/mine`}>
          {words.toRights}
        </a>
      </p>
    </>
  )
}
