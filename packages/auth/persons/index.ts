export { issuerPersonsEnd, personEnd, realmPersonsEnd, subjectIdOf } from './person-store.ts'
