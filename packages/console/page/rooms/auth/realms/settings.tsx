import { auth } from '../../../api.ts'
import { Act, ActForm, CommandCode, type Values } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Field } from '../../../parts/field.tsx'
import { navigate } from '../../../parts/router.ts'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { RealmFrame, useIsSuper } from './frame.tsx'
import { formatMethods, formatSeconds, listMethods, type Realm, readParams, superRealm } from './realm.ts'
import {
  AgeFields,
  checkProviders,
  formatProviders,
  readAges,
  readMethods,
  SimpleMethods,
  toOptions,
} from './settings-fields.tsx'

const words = texts.realms

/** Rules of a realm, and their change. */
export function Room({ path }: RoomProps) {
  const isSuper = useIsSuper()
  return (
    <RealmFrame path={path} view="settings" title={words.detailTitle(path.realm ?? '')}>
      {(realm) => (
        <>
          <Facts realm={realm} />
          <CommandCode command={toCommand('warder admin show-realm', [realm.id])} />
          {isSuper ? (
            <>
              <ChangeRealm realm={realm} />
              {realm.id !== superRealm && <DeleteRealm realm={realm} />}
            </>
          ) : (
            <p className="quiet">{words.onlySuper}</p>
          )}
        </>
      )}
    </RealmFrame>
  )
}

function Facts({ realm }: { readonly realm: Realm }) {
  const params = readParams(realm)
  const names = params.client_certificate_params?.allowed_common_names ?? []
  const { algorithm, step } = params.totp_params ?? {}
  const facts: readonly (readonly [string, string])[] = [
    [words.loginBy, formatMethods(realm) || words.noMethod],
    [words.session, formatSeconds(realm.session_max_age_seconds)],
    [words.idle, formatSeconds(realm.session_max_stale_age_seconds)],
    [words.certificates, formatSeconds(realm.certificate_max_age_seconds)],
    ...(params.username_password_params == null
      ? []
      : ([
          [
            words.expired,
            params.username_password_params.allow_expired_passwords
              ? words.expiredAllowed
              : words.expiredRefused,
          ],
        ] as const)),
    ...(params.jwt_params?.idp_params ?? []).map(
      ({ jwt_issuer_uri: issuer, jwks_uri: keys, jwt_audience: audience }) =>
        [words.provider, words.providerFact(issuer, keys, audience ?? undefined)] as const,
    ),
    ...(names.length === 0 ? [] : ([[words.commonNames, names.join(', ')]] as const)),
    [words.totp, words.totpFact(algorithm ?? 'SHA1', step ?? 30)],
  ]
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name + value} className="fact">
          <dt>{name}</dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function ChangeRealm({ realm }: { readonly realm: Realm }) {
  const replace = auth.useAct('realms.replace')
  const before = listMethods(realm)
  const toBody = (values: Values) => ({
    auth_params: readMethods(values, realm),
    ...readAges(values),
  })
  const warn = (values: Values) => {
    const gone = toOptions(values, realm)['no-login']
    const issuers = (readParams(realm).jwt_params?.idp_params ?? [])
      .map(({ jwt_issuer_uri: issuer }) => issuer)
      .filter((issuer) => !(values.providers ?? '').includes(`${issuer},`))
    if (gone.length === 0 && issuers.length === 0) return undefined
    return {
      verb: words.change,
      title: words.changeTitle(realm.id),
      children: (
        <ul>
          {gone.map((method) => (
            <li key={method}>{words.methodEnds(words.methods[method])}</li>
          ))}
          {issuers.map((issuer) => (
            <li key={issuer}>
              <bdi>{words.providerEnds(issuer)}</bdi>
            </li>
          ))}
        </ul>
      ),
    }
  }
  return (
    <Act title={words.change}>
      <ActForm
        submit={words.change}
        command={(values) => toCommand('warder admin change-realm', [realm.id], toOptions(values, realm))}
        warn={warn}
        done={words.changed}
        act={(values) => replace.mutateAsync({ path: { realm_id: realm.id }, body: toBody(values) })}
      >
        <p className="quiet">{words.changeHelp}</p>
        <SimpleMethods selected={before} />
        <Field
          label={words.providers}
          name="providers"
          isLong
          help={words.providersHelp}
          defaultValue={formatProviders(realm)}
          validate={checkProviders}
        />
        <AgeFields realm={realm} />
      </ActForm>
    </Act>
  )
}

const maxCounted = 1000

function DeleteRealm({ realm }: { readonly realm: Realm }) {
  const remove = auth.useAct('realms.delete')
  return (
    <section className="part" aria-labelledby="delete-realm">
      <h2 id="delete-realm">{words.delete}</h2>
      <p>{words.deleteHelp}</p>
      <Confirm
        verb={words.delete}
        title={words.deleteTitle(realm.id)}
        onConfirm={async () => {
          await remove.mutateAsync({ path: { realm_id: realm.id } })
          navigate('/ui/realms', { replace: true })
          showToast(words.deleted)
        }}
      >
        <Extent realm={realm.id} />
        <CommandCode command={toCommand('warder admin delete-realm', [realm.id])} />
      </Confirm>
    </section>
  )
}

/** What ends with a realm. */
function Extent({ realm }: { readonly realm: string }) {
  const query = { realm, list: 'true' }
  const users = auth.useOperation('credentials.list', {
    path: { realm_id: realm },
    query: { limit: String(maxCounted) },
  })
  const sessions = auth.useOperation('sessions.of_realm', {
    path: { realm_id: realm },
    query: { limit: String(maxCounted) },
  })
  const roles = [
    auth.useOperation('approle.role.list', { query }).data,
    auth.useOperation('kubernetes.role.list', { query }).data,
    auth.useOperation('orchestrator.role.list', { query }).data,
  ]
  const names = roles.every((reply) => reply !== undefined)
    ? roles.flatMap((reply) => reply.data.keys)
    : undefined
  const count = (list: readonly unknown[] | undefined): string =>
    list === undefined
      ? words.unknownCount
      : list.length < maxCounted
        ? String(list.length)
        : `${maxCounted}+`
  return (
    <>
      <ul>
        <li>{words.usersEnd(count(users.data))}</li>
        <li>{words.sessionsEnd(count(sessions.data?.sessions))}</li>
        <li>{words.rolesEnd(count(names))}</li>
      </ul>
      <p>{words.keysStay}</p>
    </>
  )
}
