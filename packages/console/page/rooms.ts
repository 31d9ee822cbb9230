import type { Me, Room } from './room.ts'
import { texts } from './texts.ts'

const administers = (me: Me): boolean => me.administers.length > 0
const administersAll = (me: Me): boolean => me.administers.includes('_')

/** All rooms, in the order of the navigation. The first that a user sees is the start, unless another one wants to be it. */
export const rooms: readonly Room[] = [
  {
    ...{ path: '/ui/login', title: texts.signIn.title, service: 'auth', isPublic: true },
    load: () => import('./rooms/auth/sign-in.tsx'),
  },
  {
    ...{ path: '/ui/handover', title: texts.signIn.title, service: 'auth', isPublic: true },
    load: () => import('./rooms/auth/sign-in.tsx'),
  },
  {
    ...{ path: '/ui/login', title: texts.kmsLogin.title, service: 'kms', isPublic: true },
    load: () => import('./rooms/kms/log-in.tsx'),
  },
  {
    ...{ path: '/ui/enroll', title: texts.enroll.title, service: 'auth', isPublic: true },
    load: () => import('./rooms/auth/account/enroll.tsx'),
  },
  {
    ...{ path: '/ui/create-key', title: texts.newKey.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/keys/create.tsx'),
  },
  {
    ...{ path: '/ui/keys/{kid}', title: texts.key.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/keys/key.tsx'),
  },
  {
    ...{ path: '/ui/keys', title: texts.keys.title, service: 'kms' },
    load: () => import('./rooms/kms/keys/list.tsx'),
  },
  {
    ...{ path: '/ui/authorities', title: texts.certificates.title, service: 'kms' },
    load: () => import('./rooms/kms/certificates/authorities.tsx'),
  },
  {
    ...{ path: '/ui/calendar', title: texts.calendar.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/certificates/calendar.tsx'),
  },
  {
    ...{ path: '/ui/authorities/{id}', title: texts.certificates.authority, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/certificates/authority.tsx'),
  },
  {
    ...{
      path: '/ui/certificates/{id}',
      title: texts.certificates.certificate,
      service: 'kms',
      isInner: true,
    },
    load: () => import('./rooms/kms/certificates/certificate.tsx'),
  },
  {
    ...{ path: '/ui/external-stores', title: texts.externalStores.title, service: 'kms' },
    load: () => import('./rooms/kms/external-stores/list.tsx'),
  },
  {
    ...{
      path: '/ui/external-stores/{name}',
      title: texts.externalStores.title,
      service: 'kms',
      isInner: true,
    },
    load: () => import('./rooms/kms/external-stores/store.tsx'),
  },
  {
    ...{ path: '/ui/devices', title: texts.devices.title, service: 'kms' },
    load: () => import('./rooms/kms/devices/list.tsx'),
  },
  {
    ...{ path: '/ui/device', title: texts.devices.device, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/devices/device.tsx'),
  },
  {
    ...{ path: '/ui/audit', title: texts.audit.title, service: 'both' },
    load: () => import('./rooms/audit/audit.tsx'),
  },
  {
    ...{ path: '/ui/approvals', title: texts.approvals.title, service: 'kms' },
    load: () => import('./rooms/kms/approvals/list.tsx'),
  },
  {
    ...{ path: '/ui/approvals/{id}', title: texts.approvals.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/approvals/detail.tsx'),
  },
  {
    ...{ path: '/ui/officers', title: texts.officers.title, service: 'kms' },
    load: () => import('./rooms/kms/approvals/officers.tsx'),
  },
  {
    ...{ path: '/ui/access', title: texts.access.title, service: 'kms' },
    load: () => import('./rooms/kms/access/report.tsx'),
  },
  {
    ...{ path: '/ui/access/explain', title: texts.explain.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/access/explain.tsx'),
  },
  {
    ...{ path: '/ui/access/leaver', title: texts.leaver.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/access/leaver.tsx'),
  },
  {
    ...{ path: '/ui/access/blocked', title: texts.blocked.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/access/blocked.tsx'),
  },
  {
    ...{ path: '/ui/access/tags', title: texts.tagGrants.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/access/tags.tsx'),
  },
  {
    ...{ path: '/ui/access/mine', title: texts.myRights.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/access/mine.tsx'),
  },
  {
    ...{ path: '/ui/groups', title: texts.groups.title, service: 'kms' },
    load: () => import('./rooms/kms/groups/list.tsx'),
  },
  {
    ...{ path: '/ui/groups/{name}', title: texts.groups.title, service: 'kms', isInner: true },
    load: () => import('./rooms/kms/groups/detail.tsx'),
  },
  {
    ...{ path: '/ui/first-steps', title: texts.firstSteps.title, service: 'auth' },
    load: () => import('./rooms/auth/first-steps/first-steps.tsx'),
    needs: ({ administers }) => administers.includes('_'),
    isStart: async (me) => (await import('./rooms/auth/first-steps/progress.ts')).isStart(me),
  },
  {
    ...{ path: '/ui/overview', title: texts.overview.title, service: 'both' },
    load: () => import('./rooms/overview.tsx'),
    // The realm is known at auth alone; at the kms people start with their keys.
    isStart: async ({ realm }) => realm !== undefined,
  },
  {
    ...{ path: '/ui/account', title: texts.account.title, service: 'auth' },
    load: () => import('./rooms/auth/account/account.tsx'),
  },
  {
    ...{ path: '/ui/realms', title: texts.realms.title, service: 'auth', needs: administers },
    load: () => import('./rooms/auth/realms/list.tsx'),
  },
  {
    ...{ path: '/ui/realms/{realm}', title: texts.realms.title, service: 'auth', isInner: true },
    load: () => import('./rooms/auth/realms/settings.tsx'),
  },
  {
    ...{ path: '/ui/realms/{realm}/users', title: texts.realms.title, service: 'auth', isInner: true },
    load: () => import('./rooms/auth/users/list.tsx'),
  },
  {
    ...{ path: '/ui/realms/{realm}/user', title: texts.realms.title, service: 'auth', isInner: true },
    load: () => import('./rooms/auth/users/detail.tsx'),
  },
  {
    ...{ path: '/ui/realms/{realm}/sessions', title: texts.realms.title, service: 'auth', isInner: true },
    load: () => import('./rooms/auth/users/sessions.tsx'),
  },
  {
    ...{ path: '/ui/realms/{realm}/saml', title: texts.realms.title, service: 'auth', isInner: true },
    load: () => import('./rooms/auth/realms/saml.tsx'),
  },
  {
    ...{ path: '/ui/admins', title: texts.admins.title, service: 'auth', needs: administers },
    load: () => import('./rooms/auth/admins/list.tsx'),
  },
  {
    ...{ path: '/ui/admin', title: texts.admins.title, service: 'auth', isInner: true },
    load: () => import('./rooms/auth/admins/detail.tsx'),
  },
  {
    ...{ path: '/ui/machines', title: texts.machines.title, service: 'auth', needs: administers },
    load: () => import('./rooms/auth/machines/list.tsx'),
  },
  {
    ...{ path: '/ui/machines/approle/{name}', title: texts.machines.title, service: 'auth', isInner: true },
    load: () => import('./rooms/auth/machines/approle.tsx'),
  },
  {
    ...{
      path: '/ui/machines/kubernetes/{name}',
      title: texts.machines.title,
      service: 'auth',
      isInner: true,
    },
    load: () => import('./rooms/auth/machines/identity-role.tsx'),
  },
  {
    ...{ path: '/ui/saml-keys', title: texts.samlKeys.title, service: 'auth', needs: administersAll },
    load: () => import('./rooms/auth/realms/saml-keys.tsx'),
  },
  {
    ...{ path: '/ui/health', title: texts.health.title, service: 'both' },
    load: () => import('./rooms/health.tsx'),
    // At the kms the page does not know who administrates: the room names the right that is missing.
    needs: (me) => me.realm === undefined || administersAll(me),
  },
  {
    ...{ path: '/ui/explorer', title: texts.explorer.title, service: 'both' },
    load: () => import('./rooms/explorer/explorer.tsx'),
  },
]
