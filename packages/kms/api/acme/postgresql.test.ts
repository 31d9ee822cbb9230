import { onPostgresql } from '../kmip/testing/on-postgresql.ts'

onPostgresql('ACME', ['../acme/acme', '../acme/resources', '../acme/attacks'])
